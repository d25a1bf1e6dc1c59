import type { SystemEventKind } from './system-event.js';

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
