import { Command } from 'commander';
import { z } from 'zod';
import type { AgentView } from '../../../core/agents/agent-view.js';
import { HoldfastError } from '../../../core/errors/errors.js';
import { nearestName } from '../../../core/nearest-name.js';
import { PAGE_LIMIT } from '../../../core/page.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { json, jsonOption } from '../../options.js';
import { itemsOf } from '../../pages.js';
import { plain, print, printJson, printTable } from '../../print.js';

const options = z.object({ json });

export const agentsCommand = (): Command =>
  new Command('agents')
    .argument('[name]', 'name of an agent')
    .addOption(jsonOption())
    .action(async (name: string | undefined, raw: unknown) => {
      const { json: asJson } = options.parse(raw);
      const agents = await allAgents(connect());
      const shown = name === undefined ? agents : namedAgent(agents, name);
      if (asJson) printJson(shown);
      else if (name === undefined) printAgents(agents);
      else printAgent(namedAgent(agents, name));
    });

async function allAgents(client: Client): Promise<readonly AgentView[]> {
  const agents: AgentView[] = [];
  for await (const agent of itemsOf((cursor) => client.listAgents({ limit: PAGE_LIMIT, cursor }))) agents.push(agent);
  return agents;
}

function namedAgent(agents: readonly AgentView[], name: string): AgentView {
  const found = agents.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = agents.map((one) => one.name);
  const near = nearestName(name, names);
  const meant = near === null ? '' : ` Did you mean ${JSON.stringify(near)}?`;
  throw new HoldfastError(
    'agent_unknown',
    `There is no agent ${JSON.stringify(name)}. Known: ${names.join(', ')}.${meant}`,
  );
}

function printAgents(agents: readonly AgentView[]): void {
  if (agents.length === 0) print('The server has no agents.');
  printTable(
    ['AGENT', 'VERSION', 'MODEL', 'TOOLS'],
    agents.map(({ name, version, model, tools }) => [name, version, model ?? '', tools.join(', ')]),
  );
}

function printAgent({ name, version, definitionHash, model, tools, grants, marks }: AgentView): void {
  print(`agent    ${plain(name)} ${plain(version)}`);
  if (model !== null) print(`model    ${plain(model)}`);
  print(`hash     ${definitionHash}`);
  for (const tool of tools) print(`tool     ${plain(tool)}`);
  for (const grant of grants) print(`grant    ${plain(grant)}`);
  for (const { tool, runId, seq } of marks)
    print(`mark     ${plain(tool)} gave something else in a replay than event ${seq} of ${runId} says`);
}
