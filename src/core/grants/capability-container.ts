import { pathPattern, pathRequest } from './capability-path.js';
import { notACapability } from './capability-problem.js';
import type { Token } from './capability-trie.js';

/** A shell runs whatever its command says: more than that it may be asked for a grant cannot say. */
const SHELL = 'shell';

/** In the container of a run: `exec:shell`, and paths to read and to write. */
export const containerRequest = (scope: string, action: string): readonly Token[] =>
  action === 'exec' ? shell(scope) : pathRequest(scope);

/** As a request; paths with `*` and `**`. */
export const containerPattern = (scope: string, action: string): readonly Token[] =>
  action === 'exec' ? shell(scope) : pathPattern(scope);

function shell(scope: string): readonly Token[] {
  if (scope !== SHELL) throw notACapability(`In a container, what is executed is "${SHELL}".`);
  return [scope];
}
