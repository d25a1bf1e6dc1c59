import type { Settings } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { registerAgents } from '../../engine/agents/agent-registry.js';
import { knowDeclaredSecrets } from '../../engine/secrets/declared-secrets.js';
import { providerOf } from '../../engine/dbos/register-segments.js';
