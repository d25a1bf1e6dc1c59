import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { Agent, tool } from '@openai/agents';
import { z } from 'zod';
import { type AgentDeclaration, defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { resultsIn, say, scripted } from '../../harness/script.js';

/** A tool whose body looks into the database, as it is when it begins to run, for what must be there by then. */

export interface Sight {
  readonly callId: string;
  /** Whether the log says that this call was judged. */
  readonly checked: boolean;
  /** Whether its intent is committed. */
  readonly intent: boolean;
}
export const sights: Sight[] = [];
export const sightsOf = (callId: string): number => sights.filter((one) => one.callId === callId).length;

/** Only one family of runs is at work at a time; the calls of others are over. */
const INTENT = `select c.run_id from holdfast.calls c join holdfast.runs r on r.id = c.run_id
  where c.call_id = $1 and c.outcome is null and r.status = 'running'`;
const CHECKED = `select 1 from holdfast.events where run_id = $1 and kind = 'call.checked' and data like $2`;

async function query(text: string, values: readonly string[]): Promise<readonly { readonly run_id?: string }[]> {
  const { pool } = DBOSExecutor.globalInstance?.systemDatabase ?? {};
  return (await pool?.query(text, [...values]))?.rows ?? [];
}

export async function see(callId: string): Promise<string> {
  const [intent] = await query(INTENT, [callId]);
  const checked = await query(CHECKED, [intent?.run_id ?? '', `%"callId":"${callId}"%`]);
  sights.push({ callId, intent: intent !== undefined, checked: checked.length > 0 });
  return 'probed';
}

const parameters = z.object({ n: z.number().optional().nullable() });

/** As a plain program has it; it declares nothing, so that it counts as unsafe. */
export const probe = (more: object = {}) =>
  tool({
    name: 'probe',
    description: 'Looks around.',
    parameters,
    execute: (_input, _context, details) => see(details?.toolCall?.callId ?? 'none'),
    ...more,
  });

export const declaredProbe = (more: object = {}) =>
  defineTool({
    name: 'probe',
    description: 'Looks around.',
    input: z.object({}),
    output: z.string(),
    execute: (_input, { callId }) => see(callId),
    ...more,
  });

type Parts = Omit<ConstructorParameters<typeof Agent<unknown, 'text'>>[0], 'name'>;
type Script = Parameters<typeof scripted>[0];

export const agent = (name: string, script: Script, parts: Partial<Parts> = {}) =>
  new Agent<unknown, 'text'>({ model: scripted(script), ...parts, name });

/** An agent that may do everything that a run of it is not narrowed from. */
export const granted = (one: AgentDeclaration['agent'], more: Partial<AgentDeclaration> = {}): AgentDeclaration =>
  defineAgent({
    agent: one,
    grants: [{ capability: 'tool:call:*', effect: 'allow', delegate: true }, 'hosted:call:*'],
    ...more,
  });

/** A model that says what it is given when it is asked first, and then what it was told. */
export const once = (...items: readonly object[]) =>
  functionModel('once', ({ input }) => {
    const asked = Array.isArray(input) ? input : [];
    const fresh = asked.every((item) => 'role' in item && item.role === 'user');
    const told = say(
      resultsIn(input)
        .map(({ callId, text }) => `${callId}=${text}`)
        .join(' | '),
    );
    return fresh ? ([...items] as never) : [told];
  });
