import { crashMatrix } from './crash-matrix.js';

// The server of the scenario `mcp` does not know the ids of calls, so that nobody could tell what happened under which.
for (const scenario of ['tools', 'agents', 'decisions', 'waits', 'family'] as const)
  crashMatrix(scenario, { deploys: true });
