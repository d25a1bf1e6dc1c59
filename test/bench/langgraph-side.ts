import { randomUUID } from 'node:crypto';
import { add, addInput, callOf } from './agent.js';
import type { Job, Side } from './side.js';

/** Packages that the row needs and the project does not: they are installed for it alone. */
export const LANGGRAPH_PACKAGES = [
  '@langchain/langgraph',
  '@langchain/langgraph-checkpoint-postgres',
  '@langchain/core',
] as const;

interface Message {
  readonly tool_calls?: readonly { readonly id: string; readonly args: unknown }[];
}
interface State {
  readonly messages: readonly Message[];
}
type Node = (state: State) => Promise<State>;
interface Graph {
  addNode(name: string, node: Node): Graph;
  addEdge(from: string, to: string): Graph;
  addConditionalEdges(from: string, next: (state: State) => string): Graph;
  compile(options: { readonly checkpointer: unknown }): {
    invoke(state: State, options: object): Promise<State>;
  };
}

/**
 * The same agent as a graph of LangGraph with its PostgreSQL checkpointer: each turn is two supersteps, each of which is kept
 * before the next one (`durability: 'sync'`).
 */
export async function openLangGraph(job: Job): Promise<Side> {
  const [graphs, savers, messages] = await Promise.all([
    import(LANGGRAPH_PACKAGES[0]),
    import(LANGGRAPH_PACKAGES[1]),
    import(`${LANGGRAPH_PACKAGES[2]}/messages`),
  ]);
  const saver = savers.PostgresSaver.fromConnString(job.place.databaseUrl ?? '');
  await saver.setup();
  const model: Node = async (state) => {
    const done = state.messages.filter((message) => messages.ToolMessage.isInstance(message)).length;
    if (job.modelMs > 0) await new Promise((resolve) => setTimeout(resolve, job.modelMs));
    const { name, callId: id, arguments: text } = callOf(done);
    const call = { name, id, args: JSON.parse(text), type: 'tool_call' };
    const said = done >= Number(turnsOf(state)) ? { content: 'enough' } : { content: '', tool_calls: [call] };
    return { messages: [new messages.AIMessage(said)] };
  };
  const turnsOf = (state: State): unknown => (state.messages[0] as { readonly content?: unknown } | undefined)?.content;
  const tool: Node = async (state) => {
    const calls = state.messages.at(-1)?.tool_calls ?? [];
    return {
      messages: calls.map(
        ({ id, args }) => new messages.ToolMessage({ content: add(addInput.parse(args)), tool_call_id: id }),
      ),
    };
  };
  const graph: Graph = new graphs.StateGraph(graphs.MessagesAnnotation);
  const agent = graph
    .addNode('model', model)
    .addNode('tool', tool)
    .addEdge(graphs.START, 'model')
    .addConditionalEdges('model', (state) =>
      (state.messages.at(-1)?.tool_calls ?? []).length > 0 ? 'tool' : graphs.END,
    )
    .addEdge('tool', 'model')
    .compile({ checkpointer: saver });
  const run = async (turns: number): Promise<void> => {
    const configurable = { thread_id: randomUUID() };
    const options = { configurable, recursionLimit: 100_000, durability: 'sync' };
    await agent.invoke({ messages: [new messages.HumanMessage(String(turns))] }, options);
  };
  const unmeasured = (): Promise<never> => Promise.reject(new Error('only whole runs are measured of LangGraph'));
  return { run, start: unmeasured, pause: unmeasured, decide: unmeasured, ended: unmeasured, stop: () => saver.end() };
}
