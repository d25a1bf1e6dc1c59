import type { EventKind } from './event.js';
import type { SystemEventKind } from './system-event.js';

/** What the reference page (docs/events.md, written by `npm run docs`) says of a kind. */
interface EventText {
  readonly meaning: string;
  /** When the event is written. */
  readonly written: string;
  /** What the event makes of the state of its run (state.ts). */
  readonly change: string;
}

export const EVENT_TEXTS: { readonly [K in EventKind]: EventText } = {
  'run.created': {
    meaning: 'A run exists, with its input, grants and limits.',
    written: 'With the row of the run.',
    change:
      '`status` = queued; `conversation` = roll(conversation, data.input); with data.state, `agentState` = {version: 0, value: data.state}',
  },
  'session.loaded': {
    meaning: 'The run begins with the conversation of its session.',
    written: 'With the row of a run that was started in a [session](agents/sessions.md).',
    change: 'nothing',
  },
  'session.saved': {
    meaning: 'The run added its conversation to its session.',
    written: 'With the end of a completed run that was in a session.',
    change: 'nothing',
  },
  'run.forked': {
    meaning: 'The log begins with events of another run.',
    written: "Second of a log that begins with a part of another run's log.",
    change: 'nothing',
  },
  'segment.started': {
    meaning: 'A worker begins a segment.',
    written: 'First of each segment.',
    change: '`status` = running; `segment` = data.segment',
  },
  'environment.prepared': {
    meaning: 'The container of the run is ready.',
    written:
      'Before the first turn, when the files of the [task](tasks/README.md) are in the container, and the [scaffold](containers/scaffolds.md) of the agent has prepared it.',
    change: 'nothing',
  },
  'model.requested': {
    meaning: 'The run asks a model.',
    written: 'Before a model call.',
    change: 'nothing',
  },
  'model.responded': {
    meaning: 'The model answered.',
    written: 'After the model call.',
    change:
      '`turns` + 1; each number of `usage` + that of data.usage; `conversation` = roll(conversation, data.output)',
  },
  'model.failed': {
    meaning: 'The model gave no answer.',
    written: 'After the last attempt of a model call that failed; the run fails.',
    change: 'nothing',
  },
  'mcp.listed': {
    meaning: 'The run is given the tools of an MCP server.',
    written: 'Once in a run for each MCP server, before the first turn that offers its tools.',
    change: 'nothing',
  },
  'mcp.changed': {
    meaning: 'An MCP server now lists other tools than the run was given.',
    written: 'In a later segment, when the server lists other definitions than the run was given.',
    change: 'nothing',
  },
  'call.checked': {
    meaning: 'A tool call was checked against the grants, the rules of the tool and the standing decisions.',
    written:
      'For each tool call of a response, before any call of that response starts. Again when a decided call is judged in the next segment.',
    change: '`openCalls`[data.callId] = {tool: data.tool, digest: data.digest, at: "checked"}',
  },
  'call.started': {
    meaning: 'A tool call starts.',
    written:
      "When a call starts, in the model's order; also one whose outcome a person gave. Before the body of an unsafe one runs, this event is in the database.",
    change: '`at` of that call = "started", if it is open',
  },
  'call.unknown': {
    meaning: 'It is [unknown](approvals/unknown-effects.md) whether an unsafe call had its effect.',
    written: 'When an unsafe call was begun and no one knows whether it happened.',
    change: '`at` of that call = "unknown", if it is open',
  },
  'call.finished': {
    meaning: 'A tool call has its outcome.',
    written: "When a call has ended or was refused, in the model's order.",
    change:
      'the call leaves `openCalls`; `closedCalls` = {count: count + 1, digest: roll(digest, data)}; an output with `state` [changes](#state-of-the-agent) `agentState`',
  },
  'child.started': {
    meaning: 'A call started a run of its own.',
    written: 'When a call has started a run of its own ([sub-agents](agents/sub-agents.md)).',
    change: 'nothing',
  },
  'child.ended': {
    meaning: 'The run that a call started is over.',
    written: 'When that run has ended, before the interruption that waited for it is decided.',
    change: 'each number of `usage` + that of data.usage',
  },
  'interruption.requested': {
    meaning: 'The run waits for a decision, an answer, a time, an event or another run.',
    written: 'With the pause, once for each thing that the run waits for.',
    change: '`pending`[data.id] = data.kind',
  },
  'interruption.voted': {
    meaning: 'One of several required approvals was given.',
    written: 'With an approval that is not the last one that is needed.',
    change: 'nothing',
  },
  'interruption.decided': {
    meaning: 'An interruption is over.',
    written: 'With the decision, the expiry, or the cancellation of a paused run.',
    change: 'data.id leaves `pending`',
  },
  'standing_decision.made': {
    meaning: 'An approval also holds for later calls.',
    written: 'With the approval that is to hold for later calls.',
    change: 'nothing',
  },
  'standing_decision.revoked': {
    meaning: 'A standing decision no longer holds.',
    written: 'When someone revokes it. In a fork also when it begins, by `holdfast`, for what stood in its source.',
    change: 'nothing',
  },
  'run.paused': {
    meaning: 'The run waits; no process works on it.',
    written: 'Last of a segment that ends to wait.',
    change: '`status` = paused',
  },
  'segment.cut': {
    meaning: 'The segment reached its number of turns; the run is queued for the next one.',
    written: 'Last of a segment that ends after its number of turns.',
    change: '`status` = queued',
  },
  'segment.rebuilt': {
    meaning: 'Another build resumes a segment from its log.',
    written:
      'In place of the end of a segment that no living worker could go on with ([deploys](operate/recording-versions.md)).',
    change: '`segment` = data.segment',
  },
  'run.cancel_requested': {
    meaning: 'An actor asked the run to stop.',
    written: 'When someone asks the run to stop.',
    change: '`cancelRequested` = true',
  },
  'task.verified': {
    meaning: 'The result of a task was verified.',
    written: 'When the agent of a [task](tasks/README.md) has ended, and was [verified](tasks/rewards.md).',
    change: 'nothing',
  },
  'run.completed': {
    meaning: 'The run is over, with an output.',
    written: 'Last of a log.',
    change: '`status` = completed; `pending` = {}; `result` = sha256(canonical(data.output))',
  },
  'run.failed': {
    meaning: 'The run is over, with an error.',
    written: 'Last of a log.',
    change: '`status` = failed; `pending` = {}; `result` = sha256(canonical(data.error.code))',
  },
  'run.cancelled': {
    meaning: 'The run is over, because it was cancelled.',
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
    written: 'When a person has [put it back](tasks/dead-tasks.md#dead-tasks).',
    elsewhere: 'TaskRequeued',
  },
  'run.stalled': {
    written: 'When a run at work [made no progress](tasks/dead-tasks.md#stalls) for long, once for each silence.',
    elsewhere: 'RunStalled',
  },
  'run.started': { written: 'With the first event of its log; a fork is a run of its own.', elsewhere: 'RunStarted' },
  'run.paused': { written: 'With the event that says so. `waits` counts what it waits for.', elsewhere: 'RunPaused' },
  'run.continued': { written: 'With the segment that goes on after a pause.', elsewhere: 'RunContinued' },
  'run.ended': {
    written: 'With the last event of its log. `code` is that of the error; null: it did not fail.',
    elsewhere: 'RunEnded',
  },
  'interruption.requested': {
    written: 'With the pause. `expiresInMs` counts from then; null: it does not expire by itself.',
    elsewhere: 'InterruptionRequested',
  },
  'interruption.voted': {
    written: 'With an approval after which others are still needed.',
    elsewhere: 'InterruptionVoted',
  },
  'interruption.decided': {
    written: 'With the decision, also one that no person made.',
    elsewhere: 'InterruptionDecided',
  },
  'step.executed': {
    written:
      'With the event of the run that says how a model call or a tool call ended, in the same statement. `step` is the number of the step in the trajectory. `reward` is what the scaffold gave the call; null: nothing. `durationMs` is how long the worker executed it; null: the result was there already.',
    elsewhere: 'StepExecuted',
  },
  'trajectory.stored': {
    written: 'With the [record](data/trajectories.md) that lists are made of.',
    elsewhere: 'TrajectoryStored',
  },
  'agent.version_changed': {
    written:
      'When a [version of an agent](agents/evolution.md) goes live, changes its share or is taken back. `runId` proposed it; `actor` null: the engine did it.',
    elsewhere: 'AgentVersionChanged',
  },
  'alert.changed': {
    written:
      'When an [alert](operate/alerts.md) fires or ends and is not silenced, or when a silence ends and it has changed meanwhile. `value` null: too few tasks.',
    elsewhere: 'AlertChanged',
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
      'When work beside the runs is [not begun any more](operate/crash-limits.md#work-that-kills-its-workers), since too many processes died with it.',
    elsewhere: 'WorkSetAside',
  },
  'cost.threshold_reached': {
    written:
      'When a [budget](models/budgets.md) comes to 80 percent of its limit, or to all of it, or has no room for a model call; once for each limit.',
    elsewhere: 'CostThresholdReached',
  },
};
