import type { Scaffold } from '../../core/agents/scaffold.js';
import type { DeclaredTool } from '../define/define-tool.js';
import { bashTool } from './bash.js';
import { containerEditTool } from './container-edit.js';
import { containerReadTool } from './container-read.js';

/** `bash`, `edit` and `read` in the container of the run, and nothing else: results are shown as they are, and the model says when it is done. */
export const minimalScaffold = (bash: Parameters<typeof bashTool>[0] = {}): Scaffold<DeclaredTool> => ({
  name: 'minimal',
  version: '1',
  tools: () => [bashTool(bash), containerEditTool(), containerReadTool()],
  grants: (workdir) => ['container:exec:shell', `container:read:${workdir}/**`, `container:write:${workdir}/**`],
});
