import { anyOf, isMeant, requestPatterns } from './request-patterns.js';

/** Traditional characters of the words below; texts are compared in simplified form. */
const TRADITIONAL = '計劃畫規個寫擬訂驟態進別無須請給幫創維護標記執製後並開啟這務變當說應該';
const SIMPLIFIED = '计划划规个写拟订骤态进别无须请给帮创维护标记执制后并开启这务变当说应该';

/** What may stand between the verb and 计划 without making it a plan of something else (a study plan, a price plan). */
const PLAIN = `${anyOf(
  '一下, 一[个份套], [个份套], 出来?, 好, 下, 清晰, 清楚, 详细, 完整, 简单, 简短, 简要, 简洁, 初步, 大致, 具体, 明确',
  '可行, 合理, 分步骤?, 逐步, 分阶段, 步骤, 执行, 行动, 任务, 实施, 操作, 的, 你的, 自己的, 整体, 总体, 相应, 对应',
  '当前, 这个, 该, 整个, 新, (?:包含)?[\\d一二两三四五六七八九十几多]{1,3}个?步骤?',
)}{0,6}`;
/** 计划 or 规划, neither as the first half of another word nor as what a thing is about. */
const PLAN = `[计规]划(?!${anyOf(
  '书, 表, 页, 生育, 经济, 外, 内, 价, 套餐, 管理, 模块, 接口, 字段, 系统, 功能, 组件, 按钮, 列表, 软件, 应用, 工具',
  '类, 名, 图, 任务, 局, 师, 院, 部, 模板, 数, 案, 器, 模式, 是, 有, 的(?!步骤|进度|状态|时候|话|每)',
)})`;
const MEASURE = '(?=一?[个份])';
const CREATE = `(?<![叫当看称用])${anyOf(
  `列出?, 制[定订], 拟[定订]?, 草拟, 起草, [定订](?=一?[个份]|好|下), 做出?, 写出?, [提拿]出, [出来弄搞想]${MEASURE}`,
  `给(?:我|我们)?(?:出|${MEASURE}), 创建, 建立, 生成, 设计, 准备(?=一?[个份]|好), 整理出?, 输出, 提供${MEASURE}`,
)}`;
/** 更新计划 also means a plan for updates; it is an order only behind one of these. */
const ORDERED = `(?<=^|[并都就要请再后时步先来同得须需应会且中地着完边也你我下]|${anyOf(
  '随时, 及时, 实时, 持续, 不断, 记得, 然后, 每次, 可以, 使用, 调用',
)})`;
const TASK = '(?:它|(?:这个?|该|整个)?(?:复杂|大)?的?(?:任务|问题|需求|目标|工作|项目|事情?))';

const REQUESTS = requestPatterns([
  `${CREATE}${PLAIN}${PLAN}`,
  `${ORDERED}更新${PLAIN}(?:${PLAN}|任务状态)`,
  `${ORDERED}(?:更新|维护)${PLAIN}(?:步骤|计划)的?状态`,
  `维护(?:好|一[个份]|这个|该|你的|整个)${PLAIN}${PLAN}`,
  // After each step: update the plan or the status, tick it off, mark it as done.
  `(?:每(?:完成|做完|执行完|走)?(?:一|个|一个)?步骤?|逐步|逐一?步骤|一步一步).{0,16}?${anyOf(
    '(?:更新|维护|同步|刷新)(?:一下|一次|下|步骤|的|你的|任务|执行|完成|计划|整个|对应){0,4}(?:计划|状态|进度|进展)(?![书表页码栏条])',
    '勾选, 打[个上]?[勾钩], 划掉, 标记(?:一下|为|成|好|出|已|该|步骤|任务|它){0,3}(?:完成|状态|进度|计划|$)',
  )}`,
  // Break the task down.
  `(?:^|[先请你我要后再]|[把将]${TASK})[先都]?(?:拆解|分解|拆分|细分|拆|分)(?:成|为)${anyOf(
    '几, 多, 一, 若干, 具体, 清晰, 可执行, 明确, 个, 的, 小, 可验证, 系列',
  )}{0,5}(?:步骤|子任务|小任务|步(?=$|[来做走执去]))`,
  '(?:拆解|分解|拆分)(?:一下|好|下)?(?:这个|该)?任务',
  // Plan first.
  '先(?:好好|仔细|认真|完整)?(?:计划|规划)(?:一下|下|好|清楚|一番)?(?=$|再|然后|之?后|步骤|并|执行步骤)',
  '先(?:看|告诉我|说说?|讲讲?|给我看)(?:一?下)?你的计划',
  '(?:我要|想要|需要|想看|要有)(?:一?[个份]|你的)(?:清晰|详细|简单|具体|完整|明确|分步|执行|行动|的){0,3}计划(?=$|再|然后|后|来执行)',
  // Plan mode, unless it is being built, left, or spoken about.
  `(?<!${anyOf(
    '添加, 新增, 增加, 加, 实现, 开发, 设计, 做, 支持, 关闭, 退出, 离开, 取消, 禁用, 关掉, 叫, 叫做, 所谓, 关于, 没有',
    '有, 是, 修复, 优化, 介绍, 解释, 说明, 讲解, 讲讲, 说说, 讨论, 了解, 查看',
  )}(?:了|一?[个下]|一下|的)?)[计规]划模式(?!${anyOf(
    '的, 是, 有, 和, 与, 跟, 怎, 如何, 为, 能, 可以, 会, 坏, 不, 没, 开关, 按钮, 功能, 页面, 关, 什么, 啥, 吗, 呢',
    '里的, 下的, 中的, 出错, 报错, 异常, 文档',
  )})`,
]);
/** A list of steps may be the answer itself; it is a plan when something is to be done with it. */
const STEPS = requestPatterns([
  `(?:列出?|写出?|制[定订]|规划出?|给出|理清|理出)${PLAIN}(?:步骤|任务清单|待办清单|待办|todo)(?=$|再|然后|之?后|并|给我看|清单)`,
]);
const DONE_WITH = /先|再|然后|逐|按|并|之后/;

/** "Don't start without a plan." */
const DOUBLE_NEGATION =
  /(?:没有?|不|未)先?(?:列|制定|做|写|有)?[好出个]?计划(?:之?前|的话)?,?(?:就|都|你|请|千万){0,2}(?:不要|别|不许|不准|不能|不得|禁止)/;

/** A negation with nothing behind it but words that hand it on to the request. */
const DECLINED = new RegExp(
  `${anyOf(
    '不要, 不用, 不必, 不需要?, 不想要?, 不希望, 无需, 无须, 毋需, 别, 勿, 甭, 没必要, 没有必要, 不准, 禁止, 用不着',
    '不许, 不是(?:要|让)?, 跳过, 省略, 省去, 取消, 停止, 拒绝, 不再, 没有?, 不, 懒得',
  )}${anyOf(
    '你, 我, 再, 先, 去, 来, 给, 帮, 为, 专门, 特意, 单独, 另外, 任何, 额外, 什么, 都, 又, 急着, 让, 要, 用, 使用',
    '进入, 开启, 启用, 打开, 切换到, 切到, 走, 按, 按照, 以, 每次, 就, 一直, 总是, 为此, 每(?:完成|做完)?一?个?步骤?',
  )}{0,4}$`,
);
const DECLINED_AFTER = /^.{0,5}?(?:就|这步|可以|都){0,2}(?:不用|不必|不需要|免|算|省|没必要|跳过)(?:了|吧|$)/;
const OTHER_SUBJECT = new RegExp(
  `${anyOf('他, 她, 用户, 客户, 员工, 学生, 老板, 按钮, 点击, 接口, 函数, 页面, 表单, 脚本, 昨天, 已经, 正在, 每天, 经常')}.{0,3}$`,
);
const QUESTION = new RegExp(
  anyOf('怎么, 如何, 怎样, 什么, 为何, 是否, 要不要, 需不需要, 有没有, 哪, 谁, 啥, 咋, 会不会, 多久, 应不应该, 该不该'),
);
const TOLD_ABOUT = new RegExp(
  `${anyOf('介绍, 解释, 说明, 讲解, 讲讲, 说说, 科普, 讨论, 评价, 教我, 教程, 文章, 知道, 学会, 学习')}(?:一下|下|关于)?$`,
);
const UNLESS = { before: [DECLINED, OTHER_SUBJECT, QUESTION, TOLD_ABOUT], after: [DECLINED_AFTER] };

/** Politeness and suggestions look like questions and are requests. */
const POLITE = new RegExp(
  `^(?:你好|请问|那|好的?)*(?:你|您|我们|咱们)?${anyOf(
    '是否可以, 能不能, 能否, 可否, 可不可以, 可以, 能, 麻烦, 方便, 为什么不, 何不, 要不(?!要), 怎么不, 不如',
  )}`,
);

/** Takes a sentence in lower case without its closing mark; the word "plan" inside Chinese counts as 计划. */
export function asksInChinese(sentence: string): boolean {
  if (!/\p{Script=Han}/u.test(sentence)) return false;
  const line = simplified(sentence)
    .replace(/\bplan(?:ning)?[ -]?mode\b/g, '计划模式')
    .replace(/\bplan\b/g, '计划')
    .replace(/\s+/g, '');
  if (DOUBLE_NEGATION.test(line)) return true;
  return line.split(/[,、:()]/).some((clause) => asksInClause(clause, line));
}

function asksInClause(part: string, line: string): boolean {
  const clause = part.replace(POLITE, '');
  if (clause === part && /[吗么嘛]$/.test(clause)) return false;
  return isMeant(clause, REQUESTS, UNLESS) || (DONE_WITH.test(line) && isMeant(clause, STEPS, UNLESS));
}

function simplified(text: string): string {
  return Array.from(text, (character) => {
    const at = TRADITIONAL.indexOf(character);
    return at < 0 ? character : SIMPLIFIED.charAt(at);
  }).join('');
}
