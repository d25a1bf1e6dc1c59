import { type ErrorRow, row } from './error-row.js';

/** Errors of object stores. */
export const OBJECT_STORE_ERRORS = {
  object_store_denied: row(
    502,
    'stop',
    'The object store refuses the key',
    'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, and what the key may do in the bucket.',
  ),
  bucket_unknown: row(
    502,
    'stop',
    'The object store has no such bucket',
    'Make the bucket, or correct its name, AWS_REGION or AWS_ENDPOINT_URL_S3.',
  ),
  object_store_unreachable: row(
    503,
    'retry',
    'The object store does not answer',
    'Check AWS_ENDPOINT_URL_S3, the network and the store; then do it again.',
  ),
  object_store_failed: row(
    502,
    'stop',
    'The object store refuses the request',
    'Read the detail: it has the code that the store gave. Check that AWS_ENDPOINT_URL_S3 is the address of a store.',
  ),
  checkpoints_hidden: row(
    502,
    'stop',
    'The newest checkpoint is hidden among other objects',
    'Remove what is no checkpoint from below the prefix, name earlier keys in `evidence.publicKeys`, or name another prefix.',
  ),
} as const satisfies Record<string, ErrorRow>;

/** What the one that asks a store may hear. */
export const OBJECT_STORE_CODES = Object.keys(OBJECT_STORE_ERRORS) as readonly (keyof typeof OBJECT_STORE_ERRORS)[];

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
