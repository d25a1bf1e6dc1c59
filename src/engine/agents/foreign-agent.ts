import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Agent } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { isRecord } from '../../core/json.js';

/**
 * Agents of another copy of the Agents SDK. Holdfast guards the tools of one copy, that which it imports: an agent of another one would
 * work outside of its steps, so that it is refused with the name of both copies.
 */

const SDK = '@openai/agents';
const own = createRequire(import.meta.url);

/** Whether a value has the members of an agent, whatever its class. */
const isAgentShaped = (value: unknown): value is { readonly name: string; readonly handoffs?: unknown } =>
  isRecord(value) && typeof value['name'] === 'string' && typeof value['getAllTools'] === 'function';

/** Throws `agent_invalid` for an agent that another copy of the SDK has made, also where it is reached by handoffs. */
export function assertOwnAgent(agent: unknown, seen: Set<unknown> = new Set()): void {
  if (seen.has(agent) || !isAgentShaped(agent)) return;
  seen.add(agent);
  if (!(agent instanceof Agent)) throw foreign(agent);
  for (const handoff of agent.handoffs) assertOwnAgent('agent' in handoff ? handoff.agent : handoff, seen);
}

function foreign(agent: { readonly name: string }): HoldfastError {
  const ours = `${SDK} ${versionAt(own.resolve(SDK)) ?? '?'}`;
  const theirs = copyOf(agent);
  const isSame = theirs.startsWith(`${ours} `);
  return new HoldfastError(
    'agent_invalid',
    `The agent ${agent.name} was made by ${theirs}; Holdfast works with ${ours} as an ES module.`,
    {
      hint: isSame
        ? "Load the SDK with import, or take it from Holdfast: const { Agent, tool } = require('holdfast/sdk')."
        : `Install that version (npm i ${ours.replace(' ', '@')}), or take Agent and tool from holdfast/sdk.`,
    },
  );
}

/** The copy of the SDK that an agent is of. Node knows the files of CommonJS; of an ES module the application's own is named. */
function copyOf(agent: object): string {
  for (const [file, loaded] of Object.entries(own.cache)) {
    const made: unknown = loaded?.exports;
    if (!isRecord(made) || !file.includes('agents') || typeof made['Agent'] !== 'function') continue;
    if (agent instanceof made['Agent']) return `${SDK} ${versionAt(file) ?? '?'} as CommonJS (${dirname(file)})`;
  }
  try {
    const file = createRequire(join(process.cwd(), 'any.js')).resolve(SDK);
    return `${SDK} ${versionAt(file) ?? '?'} of the application (${dirname(file)})`;
  } catch {
    return `another copy of ${SDK}`;
  }
}

/** The version of the package that a file is in; null: it is in none. */
function versionAt(file: string): string | null {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const found: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      if (isRecord(found) && typeof found['version'] === 'string') return found['version'];
    } catch {
      // The manifest is further up.
    }
  }
  return null;
}
