import { z } from 'zod';
import { canonical } from '../json.js';

/** Names and values of labels: what operators and tasks both write, and what every message may show. */
const LABEL = /^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/;
const LABELS_MOST = 8;
const word = z.string().regex(LABEL, 'is not at most 63 small letters, digits and - . _ / inside');

export const workerLabels = z
  .record(word, word)
  .refine((labels) => Object.keys(labels).length <= LABELS_MOST, `are more than ${LABELS_MOST}`);
export type WorkerLabels = z.infer<typeof workerLabels>;

const cores = z.number().min(0.01).max(1024);
const memory = z.int().min(16).max(16_777_216);
const architecture = z.string().regex(/^[a-z0-9]{1,20}$/, 'is no architecture such as amd64');

/** What a worker must have, so that it takes a run with a container. */
export const runRequirements = z.strictObject({
  /** Labels of the worker. */
  labels: workerLabels.exactOptional(),
  /** Processors of the worker that no run at work there requires. */
  cpuCores: cores.exactOptional(),
  /** The same of memory. */
  memoryMb: memory.exactOptional(),
  /** As images name it: `amd64`, `arm64`. */
  architecture: architecture.exactOptional(),
});
export type RunRequirements = z.infer<typeof runRequirements>;

/** What a worker has for containers. Null: it was not found out yet, so that it meets no requirement of it. */
export const workerOffer = z.object({
  labels: workerLabels,
  containers: z.int(),
  cpuCores: z.number().nullable(),
  memoryMb: z.int().nullable(),
  architecture: z.string().nullable(),
});
export type WorkerOffer = z.infer<typeof workerOffer>;

/** Requirements as they are in the key of a queued segment; '': none. */
export const requirementsText = (requires: RunRequirements | undefined): string => {
  const text = requires === undefined ? '' : canonical(requires);
  return text === '{}' ? '' : text;
};

/** Requirements as a person reads them. */
export function requirementsSentence({
  labels = {},
  cpuCores,
  memoryMb,
  architecture: built,
}: RunRequirements): string {
  const parts = [
    ...Object.entries(labels).map(([name, value]) => `the label ${name}=${value}`),
    ...(built === undefined ? [] : [`the architecture ${built}`]),
    ...(cpuCores === undefined ? [] : [`${cpuCores} processors`]),
    ...(memoryMb === undefined ? [] : [`${memoryMb} MB of memory`]),
  ];
  return parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}` : (parts[0] ?? 'nothing');
}

/** Labels as a setting has them: `gpu=a100,zone=b`. Null: it is none. */
export function labelsOf(text: string): WorkerLabels | null {
  const pairs = text.split(',').map((pair) => pair.trim().split('='));
  if (pairs.some(({ length }) => length !== 2)) return null;
  const names = new Set(pairs.map(([name]) => name));
  const parsed = workerLabels.safeParse(Object.fromEntries(pairs));
  return parsed.success && names.size === pairs.length ? parsed.data : null;
}

const ARCHITECTURES: { readonly [machine: string]: string } = { x86_64: 'amd64', aarch64: 'arm64', armv7l: 'arm' };

/** The architecture of a machine, as images name it. */
export const architectureOf = (machine: string): string => ARCHITECTURES[machine] ?? machine.toLowerCase();
