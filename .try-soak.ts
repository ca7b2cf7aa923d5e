import pg from 'pg'; import { execSync } from 'node:child_process';
import { openEmbedded } from './src/jobs/store/embedded/open-embedded.js';
import { createSqlStore } from './src/jobs/store/postgres/store.js';
import { openPostgresQueue, QUEUE_SEARCH_PATH } from './src/jobs/queues.js';
import { startRunWorker } from './src/jobs/worker.js';
const logger={debug(){},info(){},warn:console.log,error:console.log,child(){return this}} as any;
const dir='/tmp/pgl/soak'; const emb=await openEmbedded({dataDir:dir, logger, onProgress:console.log});
const pool=new pg.Pool({...emb.poolConfig, max:8, onConnect: async(c:any)=>{await c.query(QUEUE_SEARCH_PATH)}}); const store=await createSqlStore({pool,logger}); const q=await openPostgresQueue({pool,alone:true,logger});
const state={text:'x'.repeat(20000)}; let n=0;
const w=await startRunWorker(q,{concurrency:20,logger,process:async(key)=>{ const c=store.conversations; const {epoch}=await c.claim(key); const r=await c.read(key,epoch) as any; for(let i=0;i<3;i++) await c.commit(key,epoch,{state:{...state,i:Math.random()}, ack:r.items.map((x:any)=>x.seq)}); await c.settle(key,epoch,r.seen,null); n++; }});
const N=Number(process.argv[2]??1000); let t=performance.now();
for (let round=0; round<8; round++) {
  t=performance.now(); const goal=n+N;
  for (let i=0;i<N;i++){ const key='k:'+(i%100); await store.conversations.accept(key,{v:1,kind:'message',dedupe:`${round}.${i}`,messageId:'1',text:'hello',person:{id:'a',name:'a'},place:{platform:'f',account:'a',space:'s'}} as any); await q.addRun(key); }
  await new Promise(r=>setTimeout(r,300));
  const dt=performance.now()-t;
  const {rows}=await pool.query("select n.nspname||'.'||c.relname as t, pg_total_relation_size(c.oid)::int as s from pg_class c join pg_namespace n on n.oid=c.relnamespace where n.nspname in ('bullmq','threadloop') and c.relkind='r' order by 2 desc limit 5");
  console.log('round',round,'ms per turn',(dt/N).toFixed(1),'runs',n,'rss',Math.round(process.memoryUsage().rss/1e6), execSync(`du -sm ${dir}`).toString().trim(), rows.map((r:any)=>r.t+'='+Math.round(r.s/1024)+'k').join(' '));
  if (process.argv[3]==='vacuum') { for (const r of (await pool.query("select quote_ident(schemaname)||'.'||quote_ident(relname) as t from pg_stat_user_tables")).rows) { const v=performance.now(); await pool.query('VACUUM '+r.t); const d=performance.now()-v; if(d>20) console.log('  vacuum',r.t,d.toFixed(0),'ms'); } }
}
const v=performance.now(); await pool.query('VACUUM'); console.log('full vacuum ms', performance.now()-v, execSync(`du -sm ${dir}`).toString());
await w.close(1000); await q.close(); await store.close(); await pool.end(); await emb.close();
