import { type Dialect, STANDARD } from './dialect.js';

/**
 * DeepSeek in thinking mode refuses a history in which an answer has no `reasoning_content` with 400. Answers of other providers,
 * and those before which the model did not think, have an empty one.
 */
export const DEEPSEEK: Dialect = {
  ...STANDARD,
  name: 'deepseek',
  emptyContent: '',
  turnFields: ({ thought }) => ({ reasoning_content: thought?.text ?? '' }),
};
