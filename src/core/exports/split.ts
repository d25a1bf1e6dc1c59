import { sha256 } from '../json.js';

export const SPLITS = ['train', 'validation'] as const;
export type Split = (typeof SPLITS)[number];

/**
 * Which split a task is in: the first 32 bits of the SHA-256 of its key, as a part of one, are below `validation`. The same
 * task is in the same split of every export, and a larger part has what a smaller one has.
 */
export const splitOf = (task: string, validation: number): Split =>
  Number.parseInt(sha256(task).slice('sha256:'.length, 'sha256:'.length + 8), 16) / 2 ** 32 < validation
    ? 'validation'
    : 'train';
