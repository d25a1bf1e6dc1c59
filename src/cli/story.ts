import type { z } from 'zod';
import { EVENT_DATA, type EventData, type EventKind, type RunEvent } from '../core/log/event.js';
import { said } from '../core/trajectories/trajectory-step.js';
import { plain, plainLines } from './print.js';
import { oneLine, outcomeText } from './run-text.js';

const LABEL = 10;

/** Text under a label; more lines stand below it. */
const labelled = (label: string, text: string): string[] =>
  text.split('\n').map((line, at) => `${(at === 0 ? plain(label) : '').padEnd(LABEL)} ${line}`.trimEnd());

const withMessage = (text: string, message: string | null): string =>
  message === null ? text : `${text}: ${plain(message)}`;

const valueText = (value: unknown): string => (typeof value === 'string' ? plainLines(value) : oneLine(value));

const VERBS = { approve: 'approved', reject: 'rejected', answer: 'answered', expire: 'expired', cancel: 'cancelled' };

function decided({ verdict, actor, message, value, edit }: EventData<'interruption.decided'>): string[] {
  const answer = verdict === 'answer' ? ` ${oneLine(value)}` : '';
  const lines = labelled(actor, withMessage(`${VERBS[verdict]}${answer}`, message));
  return edit === undefined ? lines : [...lines, ...labelled('', `with ${oneLine(edit.arguments)}`)];
}

type Told = { readonly [K in EventKind]?: (data: EventData<K>, seen: Set<string>) => string[] };

/** What each kind of event says in the story of a run. Kinds that are not here say nothing. */
const TOLD: Told = {
  'run.created': ({ input }) => labelled('input', valueText(input)),
  'run.forked': ({ runId, seq, why }) => labelled(why, `of ${plain(runId)}, up to event ${seq}`),
  'session.loaded': ({ sessionId, items }) => labelled('session', `${plain(sessionId)}, ${items} items`),
  'segment.started': ({ segment }) => (segment === 0 ? [] : labelled('resumed', '')),
  'environment.prepared': ({ image }) => labelled('container', plain(image)),
  'model.responded': ({ agent, output }) => {
    const text = said(output, 'message');
    return text === null ? [] : labelled(agent, plainLines(text));
  },
  'model.failed': ({ model, error }) =>
    labelled('no answer', `${plain(model)}: ${plain(error.message)} (${error.code})`),
  'mcp.changed': ({ server }) => labelled('changed', `the tools of ${plain(server)}`),
  'call.checked': ({ callId, tool, decision, reason, ...call }, seen) => {
    // A call that waited is checked again when it is decided.
    const lines = seen.has(callId) ? [] : labelled('call', `${plain(tool)} ${oneLine(call.arguments)}`);
    seen.add(callId);
    return decision === 'deny' ? [...lines, ...labelled('denied', plain(reason))] : lines;
  },
  'call.unknown': ({ text }) => labelled('unknown', plain(text)),
  'call.finished': ({ tool, outcome }) => labelled('', `${plain(tool)} -> ${outcomeText(outcome)}`),
  'child.started': ({ childRunId }) => labelled('child run', childRunId),
  'child.ended': ({ childRunId, status }) => labelled('child run', `${plain(childRunId)} ${status}`),
  'interruption.requested': ({ id, kind, text }) => labelled('waits', `${plain(text)} (${kind} ${id})`),
  'interruption.voted': ({ actor, vote, message }) => labelled(actor, withMessage(`approved, vote ${vote}`, message)),
  'interruption.decided': decided,
  'run.paused': () => labelled('paused', ''),
  'run.cancel_requested': ({ actor, reason }) => labelled(actor, withMessage('asked the run to stop', reason)),
  'task.verified': (data) => labelled('verified', oneLine(data)),
  'run.completed': ({ output }) => labelled('completed', valueText(output)),
  'run.failed': ({ error }) => [
    ...labelled('failed', `${plain(error.message)} (${plain(error.code)})`),
    ...labelled('', plain(error.hint)),
  ],
  'run.cancelled': ({ reason }) => labelled('cancelled', reason === null ? '' : plain(reason)),
};

const isKind = (kind: string): kind is EventKind => Object.hasOwn(EVENT_DATA, kind);

/** Tells a log event by event, as lines that a terminal can be given. */
export class Story {
  readonly #seen = new Set<string>();

  tell({ kind, data }: RunEvent): readonly string[] {
    if (data === null) return labelled('erased', kind);
    return isKind(kind) ? this.#told(kind, data) : [];
  }

  #told<K extends EventKind>(kind: K, data: unknown): readonly string[] {
    const parsed = (EVENT_DATA[kind] as z.ZodType<EventData<K>>).safeParse(data);
    return parsed.success ? (TOLD[kind]?.(parsed.data, this.#seen) ?? []) : [];
  }
}
