/**
 * Entry of a child process: creates a database in the directory given as its argument and exits. PostgreSQL's own
 * initialisation needs several hundred MB inside WebAssembly, which only the end of a process gives back.
 */
import { PGlite } from '@electric-sql/pglite';
import { CREATION_SETTINGS, startParams } from './database-settings.js';

const [, , directory] = process.argv;
if (!directory) throw new Error('no directory was given');
// Without its parent nobody would use the result.
process.once('disconnect', () => process.exit(1));
const database = await PGlite.create(directory, {
  startParams: startParams(),
  initDbStartParams: [...CREATION_SETTINGS],
});
await database.close();
process.exit(0);
