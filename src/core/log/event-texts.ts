import type { EventKind } from './event.js';
import type { SystemEventKind } from './system-event.js';

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
    written: 'When an unsafe call was begun and no one knows whether it happened.',
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
    written: 'When someone revokes it. In a fork also when it begins, by `holdfast`, for what stood in its source.',
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
    written: 'When someone asks the run to stop.',
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

/** What the reference page (docs/system-events.md, written by `npm run docs`) says of a kind. */
interface SystemEventText {
  /** When the event is written. */
  readonly written: string;
  /** What other systems call such an event. */
  readonly elsewhere: string;
}

export const SYSTEM_EVENT_TEXTS: { readonly [K in SystemEventKind]: SystemEventText } = {
  'task.submitted': {
    written: 'With the row of the task.',
    elsewhere: 'TaskSubmitted',
  },
  'task.assigned': {
    written: 'When a worker has taken its run.',
    elsewhere: 'TaskAssigned',
  },
  'task.started': {
    written: 'When that begins to work.',
    elsewhere: 'TaskStarted',
  },
  'task.completed': {
    written: 'With its result.',
    elsewhere: 'TaskCompleted',
  },
  'task.failed': {
    written: 'When a run of it ended in an error, or another one is to follow.',
    elsewhere: 'TaskFailed',
  },
  'task.requeued': {
    written: 'When a person has [put it back](tasks.md#dead-tasks).',
    elsewhere: 'TaskRequeued',
  },
  'run.stalled': {
    written: 'When a run at work [made no progress](tasks.md#stalls) for long, once for each silence.',
    elsewhere: 'RunStalled',
  },
  'step.executed': {
    written: 'With the event of the run that says how a model call or a tool call ended, in the same statement.',
    elsewhere: 'StepExecuted',
  },
  'trajectory.stored': {
    written: 'With the [record](trajectories.md) that lists are made of.',
    elsewhere: 'TrajectoryStored',
  },
  'worker.registered': {
    written: 'When a process takes its place.',
    elsewhere: 'WorkerRegistered',
  },
  'worker.health': {
    written: 'When its heartbeat says something else than was told last; looked for every five seconds.',
    elsewhere: 'WorkerHealthCheck',
  },
  'worker.shutdown': {
    written: 'When it has left, or was found dead and taken over.',
    elsewhere: 'WorkerShutdown',
  },
  'queue.depth_changed': {
    written: 'When the queue of segments is longer or shorter than was told last; looked for every five seconds.',
    elsewhere: 'QueueDepthChanged',
  },
  'work.set_aside': {
    written:
      'When work beside the runs is [not begun any more](operate/workers.md#work-that-kills-its-workers), since too many processes died with it.',
    elsewhere: 'WorkSetAside',
  },
  'cost.threshold_reached': {
    written:
      'When a [budget](budgets.md) comes to 80 percent of its limit, or to all of it, or has no room for a model call; once for each limit.',
    elsewhere: 'CostThresholdReached',
  },
};
