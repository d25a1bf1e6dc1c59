import { agents } from './engine-agents.js';
import { work } from './work.js';

await work({ agents, dockerHost: process.env['ENGINE'] ?? '', dockerPatienceMs: 60_000 });
