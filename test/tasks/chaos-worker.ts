import { work } from '../workers/work.js';
import { agents } from './chaos-agents.js';

await work({ agents, dockerHost: process.env['ENGINE_HOST'] ?? '', dockerPatienceMs: 60_000 });
