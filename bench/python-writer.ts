/**
 * Writes as the Python agent does (spec §5). Arguments: file, session, count. Prints, as JSON, how
 * many seconds it took and the latency of each write in milliseconds.
 */
export const pythonBenchWriter = `
import json, random, sqlite3, sys, time
path, session, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
words = [a + b + c + d for d in ("ka", "no", "ti") for c in ("ka", "no", "ti", "re", "sol", "mun", "da", "vi", "per", "lo", "shu", "en") for b in ("ka", "no", "ti", "re", "sol", "mun", "da", "vi", "per", "lo", "shu", "en") for a in ("ka", "no", "ti", "re", "sol", "mun", "da", "vi", "per", "lo", "shu", "en")][:4000]
conn = sqlite3.connect(path, timeout=1.0, isolation_level=None)
conn.execute("PRAGMA journal_mode=WAL")
conn.execute("PRAGMA foreign_keys=ON")
def write(content):
    for attempt in range(15):
        try:
            conn.execute("BEGIN IMMEDIATE")
            try:
                conn.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)", (session, content, time.time()))
                conn.execute("UPDATE sessions SET message_count = message_count + 1 WHERE id = ?", (session,))
                conn.execute("COMMIT")
                return
            except BaseException:
                try: conn.execute("ROLLBACK")
                except sqlite3.Error: pass
                raise
        except sqlite3.OperationalError as error:
            if attempt == 14 or not ("locked" in str(error).lower() or "busy" in str(error).lower()):
                raise
        time.sleep(random.uniform(0.020, 0.150))
latencies, errors = [], 0
begun = time.perf_counter()
for n in range(count):
    content = session + " " + str(n) + " " + " ".join(words[int(random.random() ** 2 * 4000)] for k in range(58))
    started = time.perf_counter()
    try: write(content)
    except sqlite3.Error: errors += 1
    latencies.append((time.perf_counter() - started) * 1000)
    if (n + 1) % 50 == 0:
        try: conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error: pass
print(json.dumps({"seconds": time.perf_counter() - begun, "latencies": latencies, "errors": errors}))
`

/** Holds the write lock for a time and lets go for another, both in milliseconds, until it is ended. */
export const pythonLockHolder = `
import sqlite3, sys, time
path, hold, pause = sys.argv[1], float(sys.argv[2]) / 1000, float(sys.argv[3]) / 1000
conn = sqlite3.connect(path, timeout=10.0, isolation_level=None)
while True:
    conn.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    time.sleep(hold)
    conn.execute("COMMIT")
    time.sleep(pause)
`
