import type { CallOutcome } from '../../core/log/call-outcome.js';
import type { EventData, EventKind, RunEvent } from '../../core/log/event.js';

/** A run as a conversation: who said what, which calls were made and how each ended. */

export interface StoryCall {
  readonly callId: string;
  readonly seq: number;
  readonly checked: EventData<'call.checked'>;
  readonly outcome: CallOutcome | null;
  readonly decisions: readonly EventData<'interruption.decided'>[];
  readonly childRunId: string | null;
}

export interface StoryTurn {
  readonly type: 'turn';
  readonly seq: number;
  readonly turn: number;
  readonly agent: string;
  readonly model: string;
  readonly texts: readonly string[];
  /** Null: no price is known. Undefined: a build without prices wrote it. */
  readonly costUsd: string | null | undefined;
  readonly tokens: number;
  readonly calls: readonly StoryCall[];
}

export type StoryPart =
  | { readonly type: 'input'; readonly seq: number; readonly input: unknown }
  | StoryTurn
  | { readonly type: 'note'; readonly seq: number; readonly text: string };

/** An event with the payload of its kind. */
type Told = { readonly [K in EventKind]: { readonly kind: K; readonly data: EventData<K> } }[EventKind];

/** Null: the payload was erased. This page does not show kinds that it does not know. */
const toldBy = (event: RunEvent): Told | null => (event.data === null ? null : (event as unknown as Told));

interface Content {
  readonly text?: unknown;
}

/** The texts in the items of a response, in the format of the Agents SDK. */
export function textsIn(output: readonly object[]): readonly string[] {
  return output.flatMap((item: { readonly type?: unknown; readonly content?: unknown }) => {
    if (item.type !== 'message' || !Array.isArray(item.content)) return [];
    return item.content.flatMap(({ text }: Content) => (typeof text === 'string' && text !== '' ? [text] : []));
  });
}

const NOTES: { readonly [Kind in EventKind]?: string } = {
  'segment.rebuilt': 'Another build of the engine went on from the log.',
  'environment.prepared': 'The container of the run is ready.',
  'mcp.changed': 'An MCP server lists other tools than the run was given.',
  'run.cancel_requested': 'Someone asked the run to stop.',
  'task.verified': 'The result of the task was verified.',
  'run.forked': 'The events before this one come from another run.',
  'model.failed': 'The model gave no answer.',
};

interface Found {
  readonly list: StoryCall[];
  readonly at: number;
}

export function storyOf(events: readonly RunEvent[]): readonly StoryPart[] {
  const pieces: StoryPart[] = [];
  const calls = new Map<string, Found>();
  const waits = new Map<string, string>();
  let open: StoryCall[] = [];
  const change = (callId: string, changes: (call: StoryCall) => Partial<StoryCall>): void => {
    const found = calls.get(callId);
    const call = found?.list[found.at];
    if (found !== undefined && call !== undefined) found.list[found.at] = { ...call, ...changes(call) };
  };
  for (const event of events) {
    const { seq } = event;
    const told = toldBy(event);
    switch (told?.kind) {
      case 'run.created':
        pieces.push({ type: 'input', seq, input: told.data.input });
        break;
      case 'model.responded': {
        open = [];
        const { turn, agent, model, output, usage, cost } = told.data;
        const said = { texts: textsIn(output), costUsd: cost?.usd, tokens: usage.totalTokens };
        pieces.push({ type: 'turn', seq, turn, agent, model, ...said, calls: open });
        break;
      }
      case 'call.checked': {
        const { callId } = told.data;
        if (calls.has(callId)) break;
        calls.set(callId, { list: open, at: open.length });
        open.push({ callId, seq, checked: told.data, outcome: null, decisions: [], childRunId: null });
        break;
      }
      case 'call.finished': {
        const { outcome } = told.data;
        change(told.data.callId, () => ({ outcome }));
        break;
      }
      case 'child.started': {
        const { childRunId } = told.data;
        change(told.data.callId, () => ({ childRunId }));
        break;
      }
      case 'interruption.requested':
        if (told.data.callId !== null) waits.set(told.data.id, told.data.callId);
        break;
      case 'interruption.decided': {
        const { data } = told;
        change(waits.get(data.id) ?? '', ({ decisions }) => ({ decisions: [...decisions, data] }));
        break;
      }
      default:
    }
    const note = told === null ? undefined : NOTES[told.kind];
    if (note !== undefined) pieces.push({ type: 'note', seq, text: note });
  }
  return pieces;
}
