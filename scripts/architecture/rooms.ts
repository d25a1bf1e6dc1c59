/** A room: its files import their own room or a lower floor, never up and never sideways. */
export interface Room {
  readonly path: string;
  readonly floor: number;
  readonly about: string;
}

export const ROOMS: readonly Room[] = [
  {
    path: 'src/core',
    floor: 0,
    about: 'Words and pure functions: values in, values out. No clock, randomness, disk or network.',
  },
  { path: 'src/proof', floor: 0, about: 'The verifier of proofs: one file, which imports nothing but Node.' },
  { path: 'src/storage', floor: 1, about: 'The only SQL, and the two databases.' },
  { path: 'src/models', floor: 1, about: 'Language models and their providers.' },
  {
    path: 'src/object-store',
    floor: 1,
    about: 'Object stores that speak S3, and dataset repositories of a Hub: requests, and what their answers mean.',
  },
  { path: 'src/containers', floor: 1, about: "Containers of runs, on an engine that speaks Docker's API." },
  { path: 'src/metrics', floor: 1, about: 'What a process has done, as Prometheus reads it.' },
  { path: 'migrations', floor: 1, about: 'The schema, step by step.' },
  {
    path: 'src/datasets',
    floor: 2,
    about: 'Files of training data: parts that grow, and the place where they appear as a whole.',
  },
  { path: 'src/client', floor: 1, about: '`holdfast/client`: the operations over HTTP, by `fetch` alone.' },
  { path: 'src/tools', floor: 2, about: 'What an agent may call: `defineTool` and the tools that ship.' },
  { path: 'steps', floor: 3, about: 'One side effect each, as plain functions that know no DBOS.' },
  { path: 'workflows', floor: 4, about: 'Durable control flow: which step comes next.' },
  { path: 'src/engine', floor: 5, about: 'Puts everything together: the verbs, the worker, the launch of DBOS.' },
  { path: 'src/http', floor: 6, about: 'Parses a request, calls one verb, answers.' },
  { path: 'src/cli', floor: 6, about: 'The same at a terminal, over HTTP.' },
  {
    path: 'src/library',
    floor: 6,
    about: 'What the package exports beside its root: `holdfast/models`, `/tools` and `/testing`.',
  },
  {
    path: 'src/console',
    floor: 6,
    about: 'The pages for a browser, built with Preact into `dist/console`. They ask the HTTP API.',
  },
  { path: 'src/demo', floor: 6, about: 'What `npm run demo` shows.' },
];

/** What each package is for. Which rooms import it is read from the code; `HOMES` of test/architecture.test.ts says which may. */
export const PACKAGES: { readonly [name: string]: string } = {
  zod: 'Parsing what comes in over a border.',
  knex: 'SQL and migrations.',
  pg: 'PostgreSQL.',
  '@types/pg': 'The types of pg, which declarations of DBOS and of the engine name.',
  '@electric-sql/pglite': 'The embedded database.',
  '@openai/agents': "Agents, the loop, OpenAI's models.",
  '@openai/agents-extensions': 'The adapter for models of the AI SDK. Optional.',
  '@ai-sdk/anthropic': "Anthropic's Messages API. Optional.",
  '@ai-sdk/google': "Gemini's API. Optional.",
  ollama: "Ollama's models.",
  openai: "The client of APIs that speak as OpenAI's does.",
  '@pydantic/genai-prices': 'What models cost.',
  jsonrepair: 'Arguments that a small model wrote almost as JSON.',
  'ipaddr.js': 'Which addresses are public.',
  'p-retry': 'Attempts with waits.',
  aws4fetch: 'Signatures of requests to object stores.',
  dockerode: 'Requests to container engines.',
  '@dbos-inc/dbos-sdk': 'Workflows, steps, the queue.',
  express: 'HTTP.',
  'zod-openapi': 'The OpenAPI document.',
  commander: 'Command lines.',
  jiti: 'Loading `holdfast.config.ts`, and bodies of tools in TypeScript.',
  yaml: 'Reading `dbos-config.yaml` and definitions of tasks.',
  'smol-toml': '`task.toml` of Harbor.',
  'eventsource-parser': 'Reading event streams.',
  pino: 'Logs.',
  'hyparquet-writer': 'Parquet files.',
  'prom-client': 'Counters and histograms, and their text format.',
  '@marcbachmann/cel-js': 'Expressions of plans, in CEL.',
  rfc6902: 'JSON Patch, as agents are changed by it.',
  'loro-crdt': 'Documents of memory, which merge.',
  re2js: 'Expressions that a caller wrote, in linear time.',
};
