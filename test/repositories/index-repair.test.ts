import assert from 'node:assert/strict'
import test from 'node:test'

import { type Store } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

const DAMAGE: Record<string, string> = {
  // What remains of the counts after another SQLite has deleted what the agent's had indexed.
  'the counts of the trigram index are too low': `
    update messages_fts_trigram_data set block = x'0201' where id = 1`,
  'the counts of the word index are too low': `
    update messages_fts_data set block = x'0201' where id = 1`,
  'the structure of the trigram index is lost': `
    delete from messages_fts_trigram_data where id = 10`,
  'the structure of both indexes is garbage': `
    update messages_fts_trigram_data set block = x'ffffffffffffff' where id = 10;
    update messages_fts_data set block = x'ffffffffffffff' where id = 10`,
}

for (const [name, damage] of Object.entries(DAMAGE)) {
  test(`messages can be deleted although ${name}`, async (t) => {
    const store = await openTempStore(t)
    for (const id of ['kept', 'cleared', 'replaced', 'deleted', 'pruned']) {
      await store.sessions.ensure(id)
      await store.messages.appendMany(id, [
        { role: 'user', content: 'plain words' },
        { role: 'user', content: [{ text: '漓江的夜' }] },
      ])
    }
    await store.sessions.end('pruned', 'x')
    withFile(store.path, (db) => {
      db.unsafeMode(true)
      db.exec(damage)
    })

    await store.messages.clear('cleared')
    await store.messages.replaceAll('replaced', [{ role: 'user', content: ['漓江的夜'] }])
    assert.equal(await store.sessions.delete('deleted'), true)
    assert.equal(await store.sessions.prune({ olderThanDays: 0 }), 1)

    assert.equal(await store.messages.count(), 3)
    assertIndexesWhole(store)
    assert.equal((await store.search.messages('漓江的')).length, 2)
  })
}

function assertIndexesWhole(store: Store): void {
  withFile(store.path, (db) => {
    for (const index of ['messages_fts', 'messages_fts_trigram']) {
      db.prepare(`insert into ${index}(${index}) values ('integrity-check')`).run()
      assert.equal(db.prepare(`select count(*) from ${index}_docsize`).pluck().get(), 3)
    }
  })
}
