import type { TextTable } from '../../ports/texts.js';

export const english: TextTable = {
  nothingRuns: 'Nothing is running here.',
  stopped: 'Stopped.',
  stoppedDropped: (count) =>
    count === 1
      ? 'Stopped. One message that was waiting was dropped.'
      : `Stopped. ${count} waiting messages were dropped.`,
  newConversation: 'New conversation: I no longer look at what was said before.',
  statusIdle: 'Idle. Send a message to begin.',
  statusRunning: (seconds, round) => `Working for ${seconds} s, round ${round}. /stop ends it.`,
  statusWaiting: 'Waiting for an answer from a person.',
  help: [
    'Write a message and I answer. While I work, a new message steers me.',
    '',
    '/stop – stop the current work',
    '/new – start over without the earlier messages',
    '/status – what is going on here',
    '/help – this list',
    '',
    'Begin a message with "queue:" and it waits until the current answer is finished.',
  ].join('\n'),
  emptyMessage: 'That message has no text, so there is nothing to answer.',
  tooLong: (limit) => `That message is too long. The limit is ${limit} characters; please send it in parts.`,
  notAllowed: (id) =>
    `You are not on the list of people who may use this bot. Your id is ${id}; the operator can add it under access.users.`,
  chatNotAllowed: (id) =>
    `This chat is not on the list of chats where this bot answers. Its id is ${id}; the operator can add it under access.channels.`,
  notYours: 'This button is meant for someone else.',
  notYourRun: 'Only the person who started this answer, or an approver, can stop it.',
  alreadyAnswered: 'This was already answered.',
  expired: 'This question has expired.',
  closed: 'This is already closed.',
  working: 'Working …',
  usingTool: (tool) => `Using ${tool} …`,
  steered: 'Taken in; I take it into account from here on.',
  queued: 'Noted; this comes after the current answer.',
  truncated: 'The answer ends here because it reached the length limit of the model. Ask me to continue.',
  filtered: 'The model provider withheld the rest of this answer.',
  maxIterations: (count) => `I stopped looking further after ${count} rounds; this is what I have so far.`,
  modelUnreachable: (model) => `I cannot reach the model "${model}" right now. Please try again later.`,
  modelUnauthorized: (model) => `The model "${model}" rejected the access key. The operator has to correct it.`,
  modelBusy: (model) => `The model "${model}" has too many requests at the moment. Please try again in a minute.`,
  modelFailed: (model) => `The model "${model}" reported an error, so there is no answer this time.`,
  modelStalled: (model) => `The model "${model}" stopped sending in the middle. What arrived stands above.`,
  modelEmpty: (model) => `The model "${model}" sent an empty answer. Please ask again.`,
  internalError: 'Something went wrong on my side. The operator finds the details in the log.',
  poison: 'One message here could not be processed after several attempts and was set aside. The conversation goes on.',
  done: 'Done, the answer is above.',
  attachmentsIgnored: 'I can only read text for now; the attached files were not looked at.',
};
