import { type Dialect, fieldsIn, STANDARD, textIn, type UnknownFields } from './dialect.js';

/** What Google's documentation gives for calls that Gemini did not make itself, and so did not sign. */
const UNSIGNED = 'skip_thought_signature_validator';

/** Models that refuse a turn whose first call has no signature. */
const SIGNS = /(?:^|\/)gemini-(?:[3-9]|\d\d)/;

/**
 * Gemini signs its calls in `extra_content.google.thought_signature` and refuses a turn whose signature is missing with 400. Of
 * parallel calls the first one alone has a signature. Its streams leave out the `index` of calls, or repeat it.
 */
export const GOOGLE: Dialect = {
  ...STANDARD,
  name: 'google',
  callFields: ({ model, calls }, index) => {
    const own = calls[index] ?? {};
    if (index !== 0 || !SIGNS.test(model) || calls.some(isSigned)) return own;
    return { extra_content: { google: { thought_signature: UNSIGNED } } };
  },
};

/** Vertex calls the same field by its own name. */
const isSigned = (call: UnknownFields): boolean =>
  Object.values(fieldsIn(call['extra_content'])).some((one) => textIn(fieldsIn(one), 'thought_signature') !== '');
