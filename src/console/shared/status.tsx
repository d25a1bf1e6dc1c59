import type { JSX } from 'preact';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import type { RunStatus } from '../../core/runs/run.js';
import { Icon, type Shape } from './icon.js';

interface Mark {
  readonly tone: 'quiet' | 'running' | 'waiting' | 'done' | 'failed' | 'unknown';
  readonly shape: Shape;
  readonly word: string;
}

const RUN: { readonly [Status in RunStatus]: Mark } = {
  queued: { tone: 'quiet', shape: 'queued', word: 'Queued' },
  running: { tone: 'running', shape: 'running', word: 'Running' },
  paused: { tone: 'waiting', shape: 'waiting', word: 'Paused' },
  completed: { tone: 'done', shape: 'completed', word: 'Completed' },
  failed: { tone: 'failed', shape: 'failed', word: 'Failed' },
  cancelled: { tone: 'quiet', shape: 'cancelled', word: 'Cancelled' },
};

/** In the order of a run's life. */
export const RUN_STATUSES = Object.keys(RUN) as readonly RunStatus[];

export const isOver = (status: RunStatus): boolean => ['completed', 'failed', 'cancelled'].includes(status);

const Drawn = ({ tone, shape, word, short }: Mark & { readonly short?: boolean }): JSX.Element => (
  <span class={`status tone-${tone}`} title={word}>
    <Icon shape={shape} />
    <span class={short === true ? 'unseen' : undefined}>{word}</span>
  </span>
);

export const RunMark = ({ status, short }: { readonly status: RunStatus; readonly short?: boolean }): JSX.Element => (
  <Drawn {...RUN[status]} {...(short === undefined ? {} : { short })} />
);

const KIND: { readonly [Kind in InterruptionView['kind']]: Mark } = {
  approval: { tone: 'waiting', shape: 'waiting', word: 'Approval' },
  question: { tone: 'waiting', shape: 'question', word: 'Question' },
  budget: { tone: 'waiting', shape: 'money', word: 'Budget' },
  timer: { tone: 'waiting', shape: 'time', word: 'Timer' },
  event: { tone: 'waiting', shape: 'time', word: 'Event' },
  child_run: { tone: 'waiting', shape: 'time', word: 'Run' },
};
const UNKNOWN: Mark = { tone: 'unknown', shape: 'unknown', word: 'Unknown effect' };

const SETTLED: { readonly [status: string]: Mark } = {
  approved: { tone: 'done', shape: 'completed', word: 'Approved' },
  answered: { tone: 'done', shape: 'completed', word: 'Answered' },
  rejected: { tone: 'failed', shape: 'failed', word: 'Rejected' },
  expired: { tone: 'quiet', shape: 'time', word: 'Expired' },
  cancelled: { tone: 'quiet', shape: 'cancelled', word: 'Cancelled' },
};

export function WaitMark({ of }: { readonly of: Pick<InterruptionView, 'kind' | 'status' | 'reason'> }): JSX.Element {
  const asked = of.reason.code === 'unknown_effect' ? UNKNOWN : KIND[of.kind];
  return <Drawn {...(SETTLED[of.status] ?? asked)} />;
}
