import { z } from 'zod';
import type { Scaffold } from '../../core/agents/scaffold.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type BashToolOptions, bashTool } from '../container/bash.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { editTools } from './swe-edit.js';
import { observed, withLastObservations } from './swe-observation.js';
import { searchTools } from './swe-search.js';
import { viewTools } from './swe-view.js';

export interface SweScaffoldOptions {
  /** Lines of a window. Default 100; 10 to 1000. */
  readonly windowLines?: number;
  /** Of so many calls the model still sees the results; null (default): of all. */
  readonly lastObservations?: number | null;
  /** Bounds of `bash`. */
  readonly bash?: BashToolOptions;
}

const options = z.strictObject({
  windowLines: z.int().min(10).max(1000).default(100),
  lastObservations: z.int().min(1).max(10_000).nullable().default(null),
  bash: z.unknown().optional(),
});

const submit = (): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'submit',
    description: 'Says that the work is done. Nothing follows.',
    input: z.object({ summary: z.string().max(10_000).describe('What was done, in a few sentences.') }),
    output: z.string(),
    effect: 'pure',
    execute: ({ summary }) => summary,
  });

/**
 * For work on code: files are looked at through a window, found, searched and edited by lines, with a check that what parsed still
 * parses; `bash`; and `submit`, which ends the run with its summary as the output. Throws `agent_invalid` for options that are not right.
 */
export function sweScaffold(given: SweScaffoldOptions = {}): Scaffold<DeclaredTool> {
  const parsed = options.safeParse(given);
  if (!parsed.success)
    throw new HoldfastError(
      'agent_invalid',
      `The options of sweScaffold are not right: ${z.prettifyError(parsed.error)}`,
    );
  const { windowLines, lastObservations } = parsed.data;
  return {
    name: 'swe',
    version: '1',
    tools: () => [
      ...viewTools(windowLines),
      ...searchTools(),
      ...editTools(windowLines),
      bashTool(given.bash ?? {}),
      submit(),
    ],
    grants: (workdir) => [
      ...['container:exec:shell', `container:read:${workdir}/**`, `container:write:${workdir}/**`],
      'tool:call:submit',
    ],
    step: observed,
    ...(lastObservations === null ? {} : { history: (items) => withLastObservations(items, lastObservations) }),
  };
}
