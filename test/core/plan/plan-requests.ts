// What people write, one text per line, with and without a request for a plan.

/** Somebody asks for a plan. */
export const englishRequests = lines(`
make a plan first
Make a plan first, then research the three competitors.
Please create a step-by-step plan and follow it
use plan mode
Use "plan mode" for this.
plan mode please
Plan mode: compare A and B
update the plan after each step
Update the plan after every step and tell me when you are done.
Compare these databases. Create a plan before you start.
Can you make a plan first?
Could you please draft a plan for the migration?
I want a plan first
I'd like you to create a detailed plan
Let's make a plan, then do it
Break this task down into steps and work through them
Split the work into small steps first.
Plan first, then act
First plan, then execute.
Please plan before you start
Keep an active plan while you work
keep the plan up to date
Call update_plan after each finding
Don't start without a plan
Never begin without making a plan first.
Don't just start: make a plan first
Don't forget to make a plan
How would you refactor this? Make a plan first.
How about you make a plan first?
Why don't you make a plan first?
Switch to planning mode and look into this
Write a to-do list first
Draw up a plan of action
Give me your plan before you start
List the steps first, then carry them out
Mark each step as done when it is finished
Start by making a plan
Work out a plan
Make sure that you make a plan
Do the analysis in plan mode
Build a plan to migrate the database
Create a plan for comparing these three vendors
I need you to make a plan first
step-by-step plan please
When you finish a step update the plan
MAKE A PLAN FIRST
Before touching anything, outline your plan
after each step update the plan status
Whatever you do, make a plan first
Research the EU AI act. Please make a plan with clear steps and update it as you go.
I want you to plan first and only then start.
Think about it, write down a plan, then execute it step by step.
Could you outline a plan before coding?
Come up with a plan and stick to it
we should make a plan first
For this task make a plan
You must create a plan
Compare the prices of five laptops; use planning mode.
enter plan mode and fix the tests
in plan mode, please compare them
Please go into plan mode.
Make a short plan first. Then research A.
Make me a plan for researching vector databases and keep it updated
Before you start, please write a plan.
Use the update_plan tool after each step
Please keep the plan up-to-date while working
and update the plan as you go
Break it down into subtasks first
Decompose the problem into smaller steps, then solve them one by one
Let's plan this out
plan it out first
Give me a step by step plan and then carry it out
I need a step-by-step plan
show me your plan first
Develop a plan, follow it, and report.
Hi! Can you create a plan and work through it?
draft plan first
Set up a plan with milestones
please create an execution plan
Don't answer right away, create a plan first
Check each step off when done
After each step, update the status of the plan
Could we use plan mode here?
I have three CSV files with sales data. Make a plan, then compute the totals per region and write a summary.
Please plan your work first, and keep me posted.
Create a to-do list first and work through it
Work in plan mode. Topic: solar panels.
Make a new plan
please revise the plan and update the plan after each step
Could you make a step-by-step plan for this and execute it?
I would like a plan first
Outline the steps before you begin
Write out the steps first, then do them
Make sure to update your plan as you progress
Make a plan (at most 4 steps) and execute it
Make a 3-step plan and execute it
Make a plan of at most three steps
Create a plan consisting of three steps
Build me a plan and track your progress
update plan
`);

/** Somebody asks for a plan. */
export const chineseRequests = lines(`
请用计划模式调研三个数据库
计划模式
计划模式,帮我比较 A 和 B
用计划模式处理
请使用“计划模式”
先列个计划
先列一个计划,再开始做
制定计划再做
请先制定一份详细的计划
每一步都更新计划
每完成一步就更新计划
每做完一步标记完成
逐步更新状态
帮我做个计划然后执行
创建计划
更新计划
随时更新计划
记得更新一下计划
请更新步骤状态
能不能先列个计划?
可以先做个计划吗?
把这个任务拆解成几个步骤
先把任务分解成步骤,再逐一完成
分解任务
先规划一下再动手
先计划好,然后执行
先列出步骤再执行
先列个 plan 再动手
用 plan mode 做这个
切换到 plan mode
不要急着动手,先列个计划
别忘了先列计划
没有计划就不要开始
进入规划模式
請先制定計劃再做
請用計劃模式
給我一個計畫
生成一个执行计划
先告诉我你的计划
我需要一个计划
为什么不先列个计划
给出行动计划,然后执行
拟定计划
维护一个计划
制定计划后把 A 迁移到 B
帮我调研一下国产大模型,先制定计划,再一步步执行
开启计划模式
计划模式下帮我分析这三份报告
以计划模式运行
请按计划模式来
先做一份计划给我看
写个计划,然后照着做
列计划并逐步执行
请你先拟一个计划
每步完成后更新计划状态
每个步骤完成后都更新一下计划
每完成一个步骤请标记为完成
把问题拆成小步骤来做
请先拆解任务
先想一个计划
做任何事之前先制定计划
给我一份详细的执行计划再开始
创建一个分步计划并跟进
执行过程中不断更新计划
你可以先列一下计划么
麻烦先列个计划
要求:先制定计划
不管怎样,先列计划
不要直接回答,制定一个计划
先出个计划
请先做计划后执行
請先列出計劃,再執行
帮我做个 plan
使用计划模式:比较三家公司
生成计划
重新制定计划
按步骤来,每一步都要更新状态
请先做计划,再调研以下三款产品的价格
列一个三步的计划
列一个三步计划,然后执行
先制定一个包含 3 个步骤的计划
制定一个计划,每步完成后更新状态
请创建计划并在每一步完成后更新计划状态
请用计划模式,帮我分析一下这个数据
我们用计划模式吧
先做规划再执行
做个规划再开始
请先给出计划
开始之前先写计划
分解成小步骤一步步完成
将任务拆解为多个子任务
将这个复杂任务分解为若干步骤并逐步执行
请把这个需求拆分成可执行的步骤
每一步执行完都要更新计划
每完成一项就更新计划
做完每一步都更新计划
执行时请维护计划状态
制定执行计划
请启用计划模式完成以下任务
按照计划模式执行
麻烦进入计划模式
做一个分步骤的计划
`);

/** Somebody wants none. */
export const englishRefusals = lines(`
don't make a plan
Don't make a plan, just answer.
do not create a plan
no need for a plan
No need to make a plan
without a plan
Do it without a plan
Answer without making a plan first
You don't have to make a plan
I don't want you to create a plan
never use plan mode
don't use plan mode
exit plan mode
turn off plan mode
skip the plan
instead of making a plan, just do it
no plan needed
no plan please
No plans, just the answer
please answer directly without planning
please do not use planning mode
There is no need for you to make a plan
I'd rather you don't make a plan
You needn't make a plan
stop using plan mode
Without making a plan, tell me the capital of France
I did not ask you to make a plan
leave plan mode
disable plan mode
We don't need a plan, just fix it
I don't need a plan
don't bother with a plan
don't bother making a plan
There's no need for plan mode
Please just answer, no plan mode
not in plan mode please
`);

/** Somebody wants none. */
export const chineseRefusals = lines(`
不要计划
不要列计划
不用列计划
无需制定计划
别做计划
不需要计划模式
不要用计划模式
不用给我列计划
先别列计划
不必每一步都更新计划
没必要做计划
跳过计划直接做
制定计划就不用了
列计划不需要了
不要更新计划
关闭计划模式
退出计划模式
不計劃了
不要制定計劃
不需要你列计划
不想要计划
请不要先列计划
不要开启计划模式
别用计划模式
千万别制定计划
不用做计划,直接回答
计划不用列了
直接回答,不用更新计划
没有必要制定计划
无须列计划
这不是计划模式
不需要制定任何计划
不用先做计划
请直接给答案,不要用计划模式
不要拆解任务
别把任务拆成步骤
不用每步都更新状态
我不需要计划
不必进入计划模式
`);

/** Plans and steps are talked about. */
export const englishTalk = lines(`
what is a plan mode?
What is plan mode?
How does plan mode work?
How do I use plan mode?
explain plan mode
Is plan mode available?
Do you have a plan mode?
Explain how to make a plan
What does "make a plan first" mean?
Translate "make a plan first" into French
explain this step by step
Explain step by step how TCP works
What steps did you take?
what's your plan?
should I make a plan?
When should I use plan mode?
Which phone plan should I take?
My plan is to visit Rome, any tips?
What plan are we on with the vendor?
Explain the query plan
Document plan mode
compare plan mode with normal mode
What are the pros and cons of making a plan?
Is it good to make a plan before coding?
Tell me how to make a plan
Write an essay about why people make plans
explain the five-year plan of the USSR
Summarize the plan below
Review this plan
What is the plan for today?
Which plan has plan mode?
How much does the basic plan cost?
Write a blog post about plan mode in coding agents
explain each step
`);

/** Plans and steps are talked about. */
export const chineseTalk = lines(`
什么是计划模式?
计划模式是什么?
计划模式怎么用?
怎么使用计划模式
如何制定计划?
介绍一下计划模式
解释计划模式
计划生育政策是什么
如何做红烧肉?请列出步骤
请分步骤解释勾股定理
“先列个计划”用英语怎么说?
需要用计划模式吗?
要不要先列个计划?
这个套餐计划多少钱
我们的计划是什么
五年计划是什么
我的计划是明年考研,有什么建议
查询执行计划怎么看
评价一下这个计划
总结这份计划
把这个计划翻译成英文
解释一下每一步
每一步都解释清楚
分步骤说明如何安装 docker
怎样才能列好计划
你有计划模式吗
支持计划模式吗
计划模式和普通模式有什么区别
为什么要用计划模式
写一篇关于如何制定计划的文章
计划经济是什么
「用计划模式」是什么意思
公司明年的计划是什么
计划模式是干嘛的
给我讲讲计划模式
plan mode 是什么
什么叫 plan mode
请翻译:先制定计划再行动
把“先列个计划再动手”翻译成英文
`);

/** The plan, or the steps, are the product, or somebody else's. */
export const englishProducts = lines(`
create a pricing plan page
Create a plan selector component
create a plan page
make the steps of the staircase wider
build a floor plan
draft a business plan
Create a travel plan for Tokyo
Make a meal plan for the week
Write a marketing plan
Write a lesson plan about fractions
update the plan page
update our pricing plan
update plan prices in the database
Update the plan in Stripe
My boss says users create a plan before they pay
Add a button to create a plan
Write a function that can make a plan
They make a plan every year
I have to make a plan for dinner
I was in plan mode yesterday
There is a bug in plan mode
the button says create a plan
hello
create a plan for $10 a month
the plan is good
see https://example.com/make a plan-first
it went according to plan
planet
Rename update_plan to set_steps in the code
I plan to refactor the module next week
Cancel my subscription plan
Create an API endpoint for plan upgrades
Create a plan upgrade flow
Build a plan comparison table with prices
build the pricing plan cards
Create a retirement plan for me
make a workout plan
Draft a project plan document for the board
Write a test plan for the login page
Generate a query plan for this SQL
make steps wider
create the steps component
Write the steps for baking bread
list the steps to install docker
List three steps to lose weight.
update the steps in the README
Update the plan table in the database
The update plan is bad
add a plan mode to our app
Implement plan mode for our CLI
He said we should create a plan
the user story: as a user I can create a plan
plan mode is broken
Fix the plan-mode toggle
a planner app
step by step explain
give me step-by-step instructions
draw a plan of the ground floor
make a plan B page
Make the plan cheaper
Create three plans: free, pro, enterprise
Generate a diet plan for a vegan
Create a training plan for a 10k run
Make a plan view of the house
Create a study plan for the exam
make a floor plan first
Update the floor plan after each step
Design a landing page with a plan table
I wrote a plan for the trip, please check it
The steps of the staircase make noise
draw the steps of the algorithm
Create a migration plan table in SQL
Write SQL to update plan set price = 10
UPDATE plan SET price = 10 WHERE id = 1
Give me the steps to make coffee
`);

/** The plan, or the steps, are the product, or somebody else's. */
export const chineseProducts = lines(`
给应用添加计划模式按钮
计划模式的按钮坏了
做一个定价计划页面
写一份商业计划书
制定旅行计划
制定一个学习计划
写一份减肥计划
设计一个健身计划
我计划明年去北京
我准备计划一次旅行
更新套餐计划页面
更新商业计划书
这个软件的更新计划
制定设备维护计划
列出做红烧肉的步骤
你好
写一个能生成计划的函数
用户创建计划后跳转到支付页
按计划进行
给计划加一个字段
这个模块叫做计划引擎
把楼梯的台阶做宽一点
帮我写一份商业计划
写一个营销计划
制定减脂计划
生成一份测试计划
做一份旅游计划
做一个学习计划表
列出安装 docker 的步骤
更新数据库状态
更新订单状态
更新计划表数据
计划模式报错了
修复计划模式的 bug
实现一个计划模式
他们每天更新计划
用户可以创建计划
点击按钮创建计划
我已经制定计划了
楼梯步骤
写一份年度工作计划
帮我制定一份健身计划
制定营销推广计划
安排一个旅行计划
我计划周末出去玩
更新一下通讯录
每一步都要小心
生成计划任务的 cron 表达式
创建计划任务
设计数据库表 plan 的字段
创建 plan 表
`);

function lines(text: string): string[] {
  return text.trim().split('\n');
}
