import type { Settings } from '../../config.js';
import { checkArchive, checkPackages, type Scripts, scriptsOf } from './check-cloud-files.js';
import { CLOUD_FILE, type CloudFile, readCloudFile } from './cloud-file.js';
import { type CloudStart, cloudStart } from './cloud-start.js';
import { type Finding, fail, failed, ok, warn } from './finding.js';

const PORT = 3000;
const EVERYWHERE = ['0.0.0.0', '::'];
const STOP_MS = 10_000;

/**
 * What DBOS Cloud needs of a directory and of the variables that the application will have there. Only what can be seen from
 * here: nothing is sent to Cloud.
 */
export function checkCloud(settings: Settings, dir: string): readonly Finding[] {
  const scripts = scriptsOf(dir);
  let file: CloudFile;
  try {
    file = readCloudFile(dir);
  } catch (error) {
    return [failed('dbos-config', error), checkBuild(scripts), ...checkSecrets(settings), checkArchive(settings, dir)];
  }
  const start = cloudStart(file.runtimeConfig.start, scripts, settings);
  return [
    ok('dbos-config', `application ${file.name}`),
    checkBuild(scripts),
    checkStart(start),
    checkListen(start),
    ...checkPackages(dir, start.hidesCloud),
    ...checkSecrets(settings),
    checkStop(settings),
    checkArchive(settings, dir),
  ];
}

function checkBuild(scripts: Scripts): Finding {
  if (scripts['build'] !== undefined) return ok('build', scripts['build']);
  return fail(
    'build',
    'package.json has no script "build", and Cloud runs `npm run build` after the upload',
    'Add one; "true" will do where nothing is to build.',
  );
}

function checkStart({ command, behind }: CloudStart): Finding {
  if (behind === null) return ok('start', command);
  return warn(
    'start',
    `${behind} stands before the server in "${command}": SIGTERM ends that, and not the server`,
    'Let the program take its place: `exec node dist/src/main.js serve --host 0.0.0.0 --port 3000`.',
  );
}

function checkListen({ listens }: CloudStart): Finding {
  const wayOut = `Start \`serve --host 0.0.0.0 --port ${PORT}\` in ${CLOUD_FILE}.`;
  if (listens === null)
    return warn('listen', `the start command does not call \`serve\`, so that it is not checked`, wayOut);
  const { host, port, serves } = listens;
  if (!serves) return fail('listen', 'the role "worker" serves nothing, and Cloud expects a server', wayOut);
  if (port !== PORT) return fail('listen', `port ${port}, and Cloud sends requests to port ${PORT}`, wayOut);
  if (!EVERYWHERE.includes(host)) return fail('listen', `${host} is not reached from outside of the machine`, wayOut);
  return ok('listen', `port ${port} of ${host}`);
}

/** Variables that Cloud gives to the application. They are read from the environment of this command. */
function checkSecrets({ tokens, tokensFile, databaseUrl, workerId }: Settings): Finding[] {
  const set = "`dbos-cloud app env create -s HOLDFAST_TOKENS -v '[…]'`; set it here too, and check again.";
  const findings: Finding[] = [];
  if (tokensFile !== null)
    findings.push(fail('tokens', `HOLDFAST_TOKENS_FILE names a file that Cloud does not have`, `Use a secret: ${set}`));
  else if (tokens.length === 0)
    findings.push(
      fail('tokens', 'none are configured, and `serve` refuses 0.0.0.0 without them', `Make a secret: ${set}`),
    );
  else findings.push(ok('tokens', `${tokens.length} configured`));
  if (databaseUrl === null) findings.push(ok('database', 'that of Cloud: it sets DBOS_SYSTEM_DATABASE_URL'));
  else
    findings.push(
      warn(
        'database',
        'DATABASE_URL is set here; as a secret it would go before the database of Cloud',
        'Leave it out there.',
      ),
    );
  if (workerId !== null)
    findings.push(
      fail(
        'worker',
        `every machine would be worker ${workerId}, and all but one refused`,
        'Leave HOLDFAST_WORKER_ID out.',
      ),
    );
  return findings;
}

function checkStop({ shutdownGraceMs }: Settings): Finding {
  if (shutdownGraceMs <= STOP_MS) return ok('stop', `within ${shutdownGraceMs} ms of SIGTERM`);
  return fail(
    'stop',
    `HOLDFAST_SHUTDOWN_GRACE_MS is ${shutdownGraceMs}, and Cloud kills ${STOP_MS} ms after SIGTERM`,
    `Set it to ${STOP_MS} or less.`,
  );
}
