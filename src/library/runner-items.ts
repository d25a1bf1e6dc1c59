import type { AgentInputItem } from '@openai/agents';
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
