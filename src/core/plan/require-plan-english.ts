import { anyOf, isMeant, requestPatterns } from './request-patterns.js';

/** Words that may stand between the article and "plan" without making it a plan of something else. */
const PLAIN = `(?:${anyOf(
  'step[- ]by[- ]step, detailed, short, quick, brief, clear, concise, simple, full, complete, proper, rough, small',
  'numbered, written, explicit, good, solid, concrete, careful, thorough, initial, high-level, structured',
  'task, work, working, action, execution, implementation, to-?do, active, new, fresh, revised, \\w+-step',
)} )*`;
const ARTICLE = '(?:(?:a|an|the|your|some|this|that) )?';
/** What may follow "plan". A noun would make it a plan page, a plan selector; "for $10" a plan that is sold. */
const END = `(?= *$| ${anyOf(
  'first, for(?! *[$€£¥\\d]), to, then, before, beforehand, which, that, so, how, on how, about, now, again, here',
  'please, up ?front, of (?:attack|action|work|(?:\\w+ ){0,3}steps), consisting, as you, yourself, by yourself, using, based, covering, step',
  'in (?:advance|steps|detail|english|chinese|writing|your), with (?:\\w+ ){0,2}(?:steps|milestones|checkpoints|stages)',
  'ahead, if, when, once, after, while, until, or, is ready',
)}\\b)`;
const CREATE = `${anyOf(
  'create, make, draft, build, write, prepare, devise, outline, sketch, lay out, set up, come up with, develop',
  'formulate, put together, produce, generate, propose, design, present, provide, give, start with, begin with',
  'start from, think of, think up, work out, work from, figure out, draw up, share',
)}(?: (?:me|us))?(?: (?:up|out|down))?`;
const CREATING = anyOf('creating, making, drafting, building, writing, preparing, outlining');
const TASK = '(?:the|this|that|my|your) (?:\\w+ )?(?:task|work|job|problem|request|project|goal|migration|refactoring)';

/** Requests, unless what stands before them says that they are declined or somebody else's. */
const REQUESTS = requestPatterns([
  `\\b${CREATE} ${ARTICLE}${PLAIN}plan${END}`,
  `\\b(?:start|begin)(?:ing)?(?: off)? (?:by|with) ${CREATING} ${ARTICLE}${PLAIN}plan${END}`,
  `\\b${anyOf(
    'use, using, enter, enable, activate, switch (?:in)?to, go into, start, turn on, in, with, try, via, through, stay in',
  )} (?:the |your |a )?plan(?:ning)?[ -]mode\\b(?= *$| ${anyOf(
    'for, please, on, then, now, first, to, here, when, while, so, this, from, if, until, again, today, as',
  )}\\b)`,
  `\\bupdat(?:e|ing) (?:the |your |this |that |its )?${PLAIN}plan(?= *$| ${anyOf(
    'after, as, when, whenever, while, with (?:each|every|your), each, every, at, during, once, before, first, too',
    'regularly, along, accordingly, continuously, so, please, if, status, progress, throughout',
  )}\\b)`,
  '\\b(?:call|use|using|invoke|with|via) (?:the )?(?:tool )?update[_-]plan\\b',
  '\\bupdate[_-]plan (?:after|each|every|whenever|when|first|at|as)\\b',
  '\\bkeep(?:ing)? (?:the|your|a|an) (?:active )?plan (?:updated|up[- ]to[- ]date|current|in sync)\\b',
  '\\b(?:keep|maintain|follow|with|have|use) (?:an|the|your) active plan\\b',
  '\\b(?:make|write|create|keep|start with|begin with) (?:a|your) (?:to-?do list|task list|checklist)(?= *$| (?:first|before|as you|for yourself|of (?:the )?steps)\\b)',
]);

/** "I want a plan first", planning as the thing to do, or nothing but the mode's name: who speaks does not matter. */
const WISHES = requestPatterns([
  "(?:\\b(?:want|need|would like|like|see|expect|require)|'d like) (?:to see )?(?:a|your) (?:step[- ]by[- ]step |detailed |short |clear |written |concrete )*plan(?= *$| (?:first|before|then|of (?:attack|action|work)|for this|for the task|from you)\\b)",
  '\\b(?:show|tell|give) (?:me |us )?(?:your|the) plan (?:first|before|up ?front)\\b',
  `(?:^| )(?:a|your) step[- ]by[- ]step plan${END}`,
  '^(?:please )?step[- ]by[- ]step plan\\b',
  '\\bstep[- ]by[- ]step (?:status |progress )?updates?\\b',
  '^(?:(?:please|ok|okay|now|so|hey|hi|hello) )*plan(?:ning)?[ -]mode(?= *$| (?:for|please|on|then|now|first)\\b)',
  `(?:^|\\b(?:please|you|then|to|first|always|should|must|let's|now|just) )plan ${anyOf(
    'first, ahead, it (?:out|first), this (?:out|first|task), everything out, your (?:steps|approach|work)',
    'the (?:steps|work|approach|task), step[- ]by[- ]step',
    'before (?:you|doing|starting|acting|coding|writing|touching|answering|executing)',
  )}\\b`,
  '\\bfirst plan(?= *$| (?:it|this|the (?:work|steps|task)|then)\\b)',
]);

/** Looked for in the whole sentence: a list of steps is a plan when something is to be done with it. */
const STEPS = requestPatterns([
  `\\b(?:break|split|divide|decompose) (?:it|this|that|things|everything|${TASK})(?: up)?(?: down)? into (?:\\w+,? ){0,3}(?:steps|sub-?tasks|tasks|stages|phases)\\b`,
  `\\b(?:break|split) down (?:it|this|that|${TASK})(?= *(?:$|,| first| into| before))`,
  '\\b(?:list|write(?: out| down)?|lay out|outline|draft|create|make|define|plan) (?:out )?(?:the |your |all |a list of |clear )*steps (?:first|before|you (?:will|intend|plan|are going)|and (?:then )?(?:follow|execute|work|carry|track|mark|update|check|tick|do))\\b',
  "\\b(?:update|maintain|mark|tick|check|track)(?: off)? (?:the )?(?:status of )?(?:each|every) (?:finished |completed )?step(?:(?:'s|s)? status| off| (?:as|when|once|after)\\b[^,]{0,24}\\b(?:done|complete|completed|finished))\\b",
  '\\bupdate (?:the )?(?:status|progress) (?:of |after |at |for )(?:each|every) step\\b',
  '\\b(?:after|at|with|for|on) (?:each|every) step,? (?:please )?(?:update|maintain|mark|refresh)\\b[^,]{0,16}\\b(?:plan|status|progress)\\b',
]);

/** "Don't start without a plan". */
const DOUBLE_NEGATION = new RegExp(
  `\\b(?:don't|do not|never|not)\\b.{0,40}\\bwithout (?:first )?(?:(?:having|showing me|${CREATING}) )?(?:a |an |any |your )?${PLAIN}plan${END}`,
);

/** A negation with nothing behind it but words that hand it on to the request. */
const DECLINED = new RegExp(
  `\\b${anyOf(
    "don't, do not, dont, doesn't, does not, didn't, did not, never, no, not, needn't, won't, shouldn't, without",
    "instead of, rather than, skip, avoid, stop, refrain from, can't, cannot, couldn't, unable, failed, refuse",
  )}(?: ${anyOf(
    'to, you, we, have, need, want, bother, even, ever, first, please, me, us, it, any, the, a, waste, time, with, for',
    'making, creating, using, use, enter, go, into, in, start, by, try, trying, be, necessary, required, asks?, asked',
    'asking, yet, now, immediately, again, always, that, should, help, worry, about, on, so, going',
  )})*\\s*$`,
);

/** Somebody else plans, or the words name a part of a product: "users can ...", "a button to ...". */
const OTHER_SUBJECT = [
  `\\b${anyOf(
    'users?, people, customers?, clients?, admins?, students?, team, managers?, who, which, he, she, they, says?, said',
    'called, named, titled, labell?ed, how to, about, of, bugs?, errors?, problems?, stuck',
  )}(?: ${anyOf(
    'can, could, will, would, must, should, may, to, need, have, has, want, wants, often, usually, always, we, that',
  )})*\\s*$`,
  `\\b${anyOf(
    'buttons?, forms?, page, functions?, endpoint, api, scripts?, commands?, methods?, routes?, tests?, screen, tools?',
    'features?, dialog, ability, option, ways?, app, agent, bot, code, class, component, link, menu, icon, wizard',
    'article, essay, guide, tutorial, lesson, course, ui, handler, query, issues?',
  )} (?:to|for|that|which|where|in|with|on|can|lets?)(?: (?:can|could|will|would|must|should|users|people))*\\s*$`,
  `\\bi(?:'ll|'m|'ve|'d)?(?: ${anyOf(
    'will, can, could, always, usually, often, must, should, have, had, need, want, am, going, try, tried, to, just',
    'already, sometimes, would, was',
  )})*\\s*$`,
].map((source) => new RegExp(source));

const NOT_ASKED = [DECLINED, ...OTHER_SUBJECT];

/** The clause asks or tells about something. */
const QUESTION = new RegExp(
  `^(?:${anyOf('hi, hey, hello, so, ok, okay, well, please, btw, also, actually, just, sorry, thanks')} )*${anyOf(
    "what, what's, whats, why, who, whose, which, how, is, are, was, were, does, did, has, am, should, have you",
    '(?:when|where) (?:should|do|does|did|would|can|could|is|are|must|will|to), (?:can|could|may) i',
    'do (?:i|we|they|people|users|you (?:have|support|know|use|like|ever|always|usually))',
    '(?:(?:can|could|would|will) you )?(?:please )?(?:explain|describe|define|clarify|tell me|show me|document) (?:to me |me )?(?:about|what|how|why|when|if|whether|where)',
  )}\\b`,
);
/** Looks like a question and is none. */
const SUGGESTION = new RegExp(
  `^(?:(?:and|so|please|ok) )?${anyOf(
    "how about, what about, what if, why not, why don't, why do not, can't, couldn't, won't, wouldn't",
  )}(?: (?:you|we))?\\b`,
);

/** Takes a sentence in lower case without its closing mark. */
export function asksInEnglish(sentence: string): boolean {
  if (!/plan|step|task|list/.test(sentence)) return false;
  const line = sentence.replace(/\s+/g, ' ').trim();
  if (DOUBLE_NEGATION.test(line)) return true;
  if (!QUESTION.test(line) && isMeant(line, STEPS, { before: NOT_ASKED })) return true;
  return line.split(/[,:()–—]| - |\b(?:and|then|but)\b/).some(asksInClause);
}

function asksInClause(part: string): boolean {
  const clause = part.trim().replace(SUGGESTION, '').trim();
  if (QUESTION.test(clause)) return false;
  return isMeant(clause, REQUESTS, { before: NOT_ASKED }) || isMeant(clause, WISHES, { before: [DECLINED] });
}
