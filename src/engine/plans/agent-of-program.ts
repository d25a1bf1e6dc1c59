import { Agent } from '@openai/agents';
import type { ProgramModel } from '../../models/program-model.js';
import type { DeclaredTool } from '../../tools/define/define-tool.js';
import type { AgentDeclaration } from '../agents/define.js';

/** A program makes as many turns as it needs; children may take what is left. */
const MOST_TURNS = 10_000;

/** What a run of a program gives is JSON, whatever its shape. */
const jsonOutput = () => ({
  ...{ type: 'json_schema' as const, name: 'output', strict: false },
  schema: { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const },
});

interface OfProgram {
  readonly name: string;
  readonly instructions: string;
  readonly model: ProgramModel;
  readonly tools: readonly DeclaredTool[];
}

/** An agent with a program in the place of its model. */
export function agentOfProgram(
  { tools, ...program }: OfProgram,
  rest: Omit<AgentDeclaration, 'agent' | 'onDenied'>,
): AgentDeclaration {
  const agent = new Agent({ ...program, tools: [...tools], outputType: jsonOutput() });
  // A call that is not granted is one that failed, which the program hears of.
  return { maxTurns: MOST_TURNS, ...rest, agent: agent as AgentDeclaration['agent'], onDenied: 'tell' };
}
