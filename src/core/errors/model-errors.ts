import { type ErrorRow, row } from './error-row.js';

/** Errors of calls of models, of routers over them and of their recordings. */
export const MODEL_ERRORS = {
  model_failed: row(
    502,
    'retry',
    'The model call failed',
    'Read the detail; check the key, the name of the model and the provider.',
  ),
  model_refused: row(
    502,
    'stop',
    'The provider refuses the model call',
    'Read the detail; check the key, the account and what the model takes.',
  ),
  answer_truncated: row(
    502,
    'stop',
    'The answer of the model was cut at its limit of tokens',
    'Raise maxTokens of the model settings, give the agent smaller steps, or let it go on (onTruncated).',
  ),
  answer_filtered: row(
    502,
    'stop',
    'The content filter of the provider withheld an answer',
    'Read the answer in the log; change what is asked, or the model.',
  ),
  model_unknown: row(
    400,
    'stop',
    'No provider for this model',
    'Use one of the prefixes in the detail or add a provider.',
  ),
  route_impossible: row(
    422,
    'stop',
    'No model of the router can serve the request',
    'Add a candidate that can; the detail says what each lacks.',
  ),
  route_failed: row(
    502,
    'retry',
    'No model of the router answered',
    'Read the detail, which has the reason of each; try again when one of them works.',
  ),
  cassette_invalid: row(
    500,
    'stop',
    'A recording of a model cannot be used',
    'Read the detail; docs/cassettes.md says what a cassette is.',
  ),
  cassette_unmatched: row(
    500,
    'stop',
    'The request is on no cassette',
    'Ask as it was recorded, or record it again: docs/cassettes.md.',
  ),
} as const satisfies Record<string, ErrorRow>;
