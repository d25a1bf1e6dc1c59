import type { UnknownFields } from './dialect.js';
import { type Dialect, type PastTurn, STANDARD } from './dialect.js';

/**
 * The dialect of servers that the provider table does not know. A server gets back the fields of its own under the names under which
 * it gave them, and only for turns of its own: what it gave, it can be expected to take. Fields that it never gave are not sent.
 */
export const TOLERANT: Dialect = {
  ...STANDARD,
  name: 'tolerant',
  turnFields: thoughtAsGiven,
  callFields: ({ calls }, index) => calls[index] ?? {},
};

export function thoughtAsGiven({ thought }: PastTurn): UnknownFields {
  if (thought === null) return {};
  return {
    ...(thought.field === null || thought.text === '' ? {} : { [thought.field]: thought.text }),
    ...(thought.details.length === 0 ? {} : { reasoning_details: thought.details }),
  };
}
