import { z } from 'zod';
import { workspaceChanges } from '../containers/workspace-changes.js';
import { errorView } from '../runs/run.js';
import { contextChange } from '../runs/run-context.js';

/** Digests of what a provider is sent beside instructions and items; a part that says nothing is left out. */
export const requestTerms = z.object({
  tools: z.string().describe('Of tools and handoffs: names, descriptions and schemas.').exactOptional(),
  settings: z.string().describe('Of the model settings.').exactOptional(),
  output: z.string().describe('Of the schema of the answer, where it is not text.').exactOptional(),
  prompt: z.string().describe('Of a prompt or conversation that the provider keeps.').exactOptional(),
});

/** Names the stored state that a segment ends with. */
export const keptState = z
  .string()
  .exactOptional()
  .describe('SHA-256 of the stored state that the next segment resumes from. Absent in logs of older builds.');

/** What a segment ends with of the context of its run. */
export const endContext = contextChange
  .exactOptional()
  .describe('The [context](agents/context.md) of the run at the end of the segment, only if the segment changed it.');

/** What a call changed of the files of its environment. */
export const changedFiles = workspaceChanges
  .exactOptional()
  .describe(
    'Only if the environment asks for [file changes](containers/file-changes.md): `{cwd, files, more, complete}`.',
  );

/** Why a run, or a part of it, failed. */
export const failedBy = errorView.describe('`{code, message, hint}`, with a code of [errors](errors.md).');
