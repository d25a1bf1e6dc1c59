import type { AgentInputItem, RunResult } from '@openai/agents';
import { HoldfastError } from '../core/errors/errors.js';
import type { DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { Usage } from '../core/runs/run.js';
import type { AnyAgent } from './runner-engine.js';
import { textOf } from './script.js';

/** What a run added to its conversation, with the members that an item of the SDK's `newItems` has. */
export type RunnerItem =
  | { readonly type: 'message_output_item'; readonly rawItem: AgentInputItem; readonly content: string }
  | { readonly type: 'tool_call_item' | 'reasoning_item'; readonly rawItem: AgentInputItem }
  | { readonly type: 'tool_call_output_item'; readonly rawItem: AgentInputItem; readonly output: unknown };

/** The items of a run behind its input, which is a text or a list of items. */
export function newItemsOf(history: readonly AgentInputItem[], input: unknown): readonly RunnerItem[] {
  return history.slice(Array.isArray(input) ? input.length : 1).flatMap((rawItem) => itemOf(rawItem) ?? []);
}

/** Null: of a kind that `newItems` does not have. */
function itemOf(rawItem: AgentInputItem): RunnerItem | null {
  const type = rawItem.type ?? 'message';
  if (type === 'message') {
    const content = 'content' in rawItem ? textOf(rawItem.content) : '';
    return { type: 'message_output_item', rawItem, content };
  }
  if (type === 'reasoning') return { type: 'reasoning_item', rawItem };
  if (type.endsWith('_result')) {
    const output = 'output' in rawItem ? rawItem.output : undefined;
    return { type: 'tool_call_output_item', rawItem, output };
  }
  return type.endsWith('_call') ? { type: 'tool_call_item', rawItem } : null;
}

/** What a run waits for, with the members of an approval item of the SDK. */
export interface RunnerInterruption {
  readonly type: 'tool_approval_item';
  /** Name of the tool. */
  readonly name: string;
  /** As the model gave them, as JSON. */
  readonly arguments: string;
  readonly rawItem: {
    readonly type: 'function_call';
    readonly callId: string;
    readonly name: string;
    readonly arguments: string;
  };
  /** The interruption as the inbox has it. */
  readonly view: InterruptionView;
}

export const interruptionOf = (view: InterruptionView): RunnerInterruption => {
  const name = view.tool ?? view.kind;
  const text = JSON.stringify(view.arguments);
  return {
    type: 'tool_approval_item',
    name,
    arguments: text,
    rawItem: { type: 'function_call', callId: view.callId ?? view.id, name, arguments: text },
    view,
  };
};

/** The state of a run that waits: takes decisions, which the next `run(agent, state)` sends. */
export class RunnerState {
  readonly runId: string;
  readonly #decisions = new Map<string, DecisionRequest>();

  constructor(runId: string) {
    this.runId = runId;
  }

  approve(interruption: RunnerInterruption): void {
    this.#decisions.set(this.#idOf(interruption), { verdict: 'approve' });
  }

  reject(interruption: RunnerInterruption, { message }: { readonly message?: string } = {}): void {
    const decision = message === undefined ? {} : { message };
    this.#decisions.set(this.#idOf(interruption), { verdict: 'reject', ...decision });
  }

  /** The decisions by the ids of their interruptions. */
  decisions(): ReadonlyMap<string, DecisionRequest> {
    return this.#decisions;
  }

  #idOf(interruption: RunnerInterruption): string {
    // A program in JavaScript may give anything.
    const view = (interruption as Partial<RunnerInterruption> | null | undefined)?.view;
    if (view === undefined)
      throw new HoldfastError(
        'invalid_request',
        'A state takes an interruption of its result: one of `interruptions`.',
      );
    if (view.runId === this.runId) return view.id;
    throw new HoldfastError(
      'invalid_request',
      `The interruption ${view.id} is of the run ${view.runId}, not of ${this.runId}.`,
    );
  }
}

/** How a run of a runner stands: over, or waiting for decisions. */
export interface RunnerResult<TAgent extends AnyAgent> {
  readonly runId: string;
  /** Undefined while the run waits. */
  readonly finalOutput: RunResult<unknown, TAgent>['finalOutput'] | undefined;
  /** Input and answers, as items of the SDK: the input of a next run. */
  readonly history: AgentInputItem[];
  /** What the run added to its input. Empty while the run waits. */
  readonly newItems: readonly RunnerItem[];
  readonly interruptions: readonly RunnerInterruption[];
  readonly state: RunnerState;
  readonly usage: Usage;
}
