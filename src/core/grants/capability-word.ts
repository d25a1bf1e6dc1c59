import { pathPattern, pathRequest } from './capability-path.js';
import { notACapability } from './capability-problem.js';
import { ONE, type Token } from './capability-trie.js';

const NAME = /^[A-Za-z0-9_.-]+$/;

/** An id that only its own domain understands: compared as a whole, never in parts. */
export function wordRequest(scope: string): readonly Token[] {
  if (scope.trim() !== scope) throw notACapability('A scope does not begin or end with a space.');
  return [scope];
}

export function wordPattern(scope: string): readonly Token[] {
  if (scope.includes('*')) throw notACapability('In this domain "*" stands alone as the scope, or not at all.');
  return wordRequest(scope);
}

/** The name of a tool. */
export function nameRequest(scope: string): readonly Token[] {
  if (!NAME.test(scope)) throw notACapability('A tool is named with letters, digits, "_", "-" and ".".');
  return [scope];
}

/** `<server>/<tool>` of a server of the Model Context Protocol. */
export function serverToolRequest(scope: string): readonly Token[] {
  const parts = scope.split('/');
  if (parts.length !== 2 || !parts.every((part) => NAME.test(part))) {
    throw notACapability('A tool of a server is written <server>/<tool>.');
  }
  return parts;
}

/** As a request; the tool may be `*`. */
export function serverToolPattern(scope: string): readonly Token[] {
  if (!scope.endsWith('/*')) return serverToolRequest(scope);
  const server = scope.slice(0, -2);
  return [...nameRequest(server), ONE];
}

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
