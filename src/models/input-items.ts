import { protocol } from '@openai/agents';
import type { FieldError } from '../core/errors/errors.js';

const FAULTS_MOST = 20;
const EXPECTED = 'is no item of the Agents SDK, such as { "type": "message", "role": "user", "content": "Hello" }';

/** Items that no model could be shown, by their places: at most 20. */
export function itemFaults(items: unknown): FieldError[] {
  if (!Array.isArray(items)) return [{ pointer: '', detail: 'expected a list of items' }];
  const faults: FieldError[] = [];
  for (const [at, item] of items.entries()) {
    if (faults.length >= FAULTS_MOST) break;
    if (!protocol.ModelItem.safeParse(item).success) faults.push({ pointer: `/${at}`, detail: EXPECTED });
  }
  return faults;
}
