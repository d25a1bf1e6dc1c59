import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { place } from './place.js';

/** What the world sees of tools: a file with one line for each execution. */
const world = process.env['EFFECTS_FILE'] ?? '';

export const effectsIn = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];

interface Effect {
  readonly tool: string | null;
  readonly callId: string | null;
  readonly runId?: string;
}

/** Whether the world has seen a call: by its id, or by its run and its id. */
export const happened = ({ tool, callId, runId }: Effect): boolean =>
  effectsIn(world).some((line) => line === `${tool}:${callId}` || line === `${tool}:${runId}:${callId}`);

/** Leaves a line in the world, and dies right before or after where it is told to. */
export function leave(name: string, callId: string): void {
  place(`${name}:before`);
  appendFileSync(world, `${name}:${callId}\n`);
  place(`${name}:after`);
}
