import { type Dialect, STANDARD } from './dialect.js';

/** OpenRouter takes `reasoning_details` back unchanged; without them the text of `reasoning`. */
export const OPENROUTER: Dialect = {
  ...STANDARD,
  name: 'openrouter',
  turnFields: ({ thought }) => {
    if (thought === null) return {};
    if (thought.details.length > 0) return { reasoning_details: thought.details };
    return thought.text === '' ? {} : { reasoning: thought.text };
  },
};
