import pg from 'pg';
import { openEmbedded } from '../../../../src/jobs/store/embedded/open-embedded.js';
import { quietLogger } from '../../../fakes/quiet.js';

/**
 * Opens the embedded database of the directory in INPUT; says each progress line, then `open` or the error's code. Then it writes numbers
 * into the table `written`, saying each only after its commit, and leaves one transaction open.
 */
const dataDir: string = JSON.parse(process.env.INPUT ?? '""');
process.on('disconnect', () => process.exit(0));
const say = (message: string | number) => void process.send?.(message);
const opening = openEmbedded({ dataDir, logger: quietLogger, onProgress: say });
opening.catch((error: { code?: string }) => {
  say(String(error.code));
  process.disconnect();
});
const { poolConfig } = await opening.catch(() => process.exit(1));
const pool = new pg.Pool({ ...poolConfig, max: 2 });
pool.on('error', () => undefined);
await pool.query('CREATE TABLE IF NOT EXISTS written (number bigint)');
say('open');
const unfinished = await pool.connect();
for (let number = 1; ; number++) {
  await pool.query('INSERT INTO written VALUES ($1)', [number]);
  say(number);
  await unfinished.query('BEGIN');
  await unfinished.query('INSERT INTO written VALUES ($1)', [-number]);
  await unfinished.query(number % 20 === 0 ? 'SELECT pg_sleep(0.01)' : 'SELECT 1');
  await unfinished.query('ROLLBACK');
}
