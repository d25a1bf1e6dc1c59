import { agents, prices } from './agents.js';
import { work } from './work.js';

await work({ agents, prices, tenants: JSON.parse(process.env['TENANTS'] ?? '{}') });
