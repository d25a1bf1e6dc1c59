import { type ErrorRow, row } from './error-row.js';

/** Errors of a Hugging Face Hub. */
export const HUB_ERRORS = {
  hub_denied: row(
    502,
    'stop',
    'The Hub refuses the token',
    'Check HF_TOKEN and HF_ENDPOINT. The token needs the right to write to the repository, and to create it if it does not exist.',
  ),
  hub_unreachable: row(
    503,
    'retry',
    'The Hub does not answer',
    'Check HF_ENDPOINT, the network and the rate limits of the Hub; then do it again.',
  ),
  hub_failed: row(
    502,
    'stop',
    'The Hub refuses the request',
    'Read the detail: it has the status and the code that the Hub gave.',
  ),
} as const satisfies Record<string, ErrorRow>;
