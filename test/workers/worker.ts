import { agents } from './agents.js';
import { work } from './work.js';

await work({ agents, tenants: JSON.parse(process.env['TENANTS'] ?? '{}') });
