import { answerAfter, type call, type say, scriptedModel } from '../../src/library/script.js';

export { call, resultsIn, say, textOf } from '../../src/library/script.js';

/** Models of tests: pure functions of the conversation, so that a restart gets the same answers. */

export type Output = (ReturnType<typeof call> | ReturnType<typeof say>)[];

export const scripted = (outputs: readonly Output[], delayMs = 0) => scriptedModel(outputs, { delayMs });

/** What such a model says next. */
export const outputAfter = (outputs: readonly Output[], input: unknown): Output => answerAfter(outputs, input);
