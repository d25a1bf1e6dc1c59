import type { EventKind } from './event.js';

/** What the reference page (docs/events.md, written by `npm run docs`) says of a kind. */
interface EventText {
  /** When the event is written. */
  readonly written: string;
  /** What the event makes of the state of its run (state.ts). */
  readonly change: string;
}

export const EVENT_TEXTS: { readonly [K in EventKind]: EventText } = {
  'run.created': {
    written: 'With the row of the run.',
    change: '`status` = queued; `conversation` = roll(conversation, data.input)',
  },
  'session.loaded': {
    written: 'With the row of a run that was started in a [session](sessions.md).',
    change: 'nothing',
  },
  'session.saved': {
    written: 'With the end of a completed run that was in a session.',
    change: 'nothing',
  },
  'run.forked': {
    written: "Second of a log that begins with a part of another run's log.",
    change: 'nothing',
  },
  'segment.started': {
    written: 'First of each segment.',
    change: '`status` = running; `segment` = data.segment',
  },
  'environment.prepared': {
    written:
      'Before the first turn, when the files of the [task](tasks.md) are in the container, and the [scaffold](scaffolds.md) of the agent has prepared it.',
    change: 'nothing',
  },
  'model.requested': {
    written: 'Before a model call.',
    change: 'nothing',
  },
  'model.responded': {
    written: 'After it.',
    change:
      '`turns` + 1; each number of `usage` + that of data.usage; `conversation` = roll(conversation, data.output)',
  },
  'model.failed': {
    written: 'After the last attempt of a model call that failed; the run fails.',
    change: 'nothing',
  },
  'mcp.listed': {
    written: 'Once in a run for each MCP server, before the first turn that offers its tools.',
    change: 'nothing',
  },
  'mcp.changed': {
    written: 'In a later segment, when the server lists other definitions than the run was given.',
    change: 'nothing',
  },
  'call.checked': {
    written:
      'For each tool call of a response, before any call of that response starts. Again when a decided call is judged in the next segment.',
    change: '`openCalls`[data.callId] = {tool: data.tool, digest: data.digest, at: "checked"}',
  },
  'call.started': {
    written:
      "When a call starts, in the model's order; also one whose outcome a person gave. Before the body of an unsafe one runs, this event is in the database.",
    change: '`at` of that call = "started", if it is open',
  },
  'call.unknown': {
    written: 'When an unsafe call was begun and nobody knows whether it happened.',
    change: '`at` of that call = "unknown", if it is open',
  },
  'call.finished': {
    written: "When a call has ended or was refused, in the model's order.",
    change: 'the call leaves `openCalls`; `closedCalls` = {count: count + 1, digest: roll(digest, data)}',
  },
  'child.started': {
    written: 'When a call has started a run of its own ([sub-agents](sub-agents.md)).',
    change: 'nothing',
  },
  'child.ended': {
    written: 'When that run has ended, before the interruption that waited for it is decided.',
    change: 'each number of `usage` + that of data.usage',
  },
  'interruption.requested': {
    written: 'With the pause, once for each thing that the run waits for.',
    change: '`pending`[data.id] = data.kind',
  },
  'interruption.voted': {
    written: 'With an approval that is not the last one that is needed.',
    change: 'nothing',
  },
  'interruption.decided': {
    written: 'With the decision, the expiry, or the cancellation of a paused run.',
    change: 'data.id leaves `pending`',
  },
  'standing_decision.made': {
    written: 'With the approval that is to hold for later calls.',
    change: 'nothing',
  },
  'standing_decision.revoked': {
    written: 'When somebody revokes it. In a fork also when it begins, by `holdfast`, for what stood in its source.',
    change: 'nothing',
  },
  'run.paused': {
    written: 'Last of a segment that ends to wait.',
    change: '`status` = paused',
  },
  'segment.cut': {
    written: 'Last of a segment that ends after its number of turns.',
    change: '`status` = queued',
  },
  'segment.rebuilt': {
    written:
      'In place of the end of a segment that no living worker could go on with ([deploys](operate/deploys.md#the-recording-version)).',
    change: '`segment` = data.segment',
  },
  'run.cancel_requested': {
    written: 'When somebody asks the run to stop.',
    change: '`cancelRequested` = true',
  },
  'task.verified': {
    written: 'When the agent of a [task](tasks.md) has ended, and was [verified](rewards.md).',
    change: 'nothing',
  },
  'run.completed': {
    written: 'Last of a log.',
    change: '`status` = completed; `pending` = {}; `result` = sha256(canonical(data.output))',
  },
  'run.failed': {
    written: 'Last of a log.',
    change: '`status` = failed; `pending` = {}; `result` = sha256(canonical(data.error.code))',
  },
  'run.cancelled': {
    written: 'Last of a log.',
    change: '`status` = cancelled; `pending` = {}; `result` = sha256(canonical(data.reason))',
  },
};
