import type { TestContext } from 'node:test'

import { sql } from 'kysely'

import type { Store } from '../../src/index.ts'
import { openTempStore } from './temp-store.ts'

export interface SearchMessage {
  readonly content: string | null
  readonly toolName?: string
  /** As it is stored. */
  readonly toolCalls?: string
}

/** As the agent writes JSON: what is not ASCII is escaped. */
export function agentJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function agentCall(name: string, args: object): string {
  return agentJson([{ id: 'call_1', function: { name, arguments: agentJson(args) } }])
}

const said = (text: string): SearchMessage[] =>
  text
    .trim()
    .split('\n')
    .map((line) => ({ content: line.trim() }))

/** Chat in many scripts; the id of each is its place, from 1. */
export const SEARCH_MESSAGES: readonly SearchMessage[] = [
  // English, code and punctuation
  ...said(`
    Please don't stop the terraform plan, it looks fine.
    The build is written in C# and C++, see src/main.py line 3.
    TODO: fix the --force flag; mail user@example.com what? 50% off!
    Deploy chat-send to kubernetes version P2.2 with my-app.config.ts
    I go to the Go meetup; cargo and logo are not go.
    git commit -m "x" and NOT a word AND another OR a third
    web_search found snake_case_name and camelCase in v1.2.3-rc.1
    near the end, far from the beginning, the middle is near too`),
  // German, French, Spanish, Polish, Turkish, Vietnamese
  ...said(`
    Die Straße in München ist über die Brücke zu erreichen, größer als Köln
    Le café était fermé, à côté de l'hôtel; déjà vu, naïve résumé
    El niño comió una piña mañana en Málaga, ¿verdad?
    Zażółć gęślą jaźń w Łodzi
    İstanbul'da güneşli bir gün, ışık ve çiçek
    Tiếng Việt có nhiều dấu: phở, bánh mì, cà phê sữa đá
    cafe\u0301 written with a combining accent, resume\u0301 as well`),
  // Chinese
  ...said(`
    大别山项目的部署进度如何？今天天气很好
    广西和桂林的漓江很美，項目進度 50%
    修改foobar模块，然后用go写一个服务端youer程序
    學C語言的時候，請看第3章
    我们明天去北京，不去上海
    数据库索引坏了，重建索引需要时间
    𠀀𠀁是扩展区的字，人工智能
    只有广西
    天气
    气`),
  // Japanese
  ...said(`
    東京タワーとスカイツリーに行きました
    サーバーのエラーログを確認してください
    ﾀﾜｰは半角カナです。ＡＢＣは全角です
    機械学習のモデルをTensorFlowで作る
    京都の天気は晴れ、お茶を飲む`),
  // Korean
  ...said(`
    서울타워에 가고 싶어요
    서울의 날씨가 좋습니다, 부산은 비
    데이터베이스서버를 재시작해 주세요 API키
    한국어 검색 테스트`),
  // Thai, Lao, Khmer, Burmese
  ...said(`
    สวัสดีครับ วันนี้อากาศดีมาก
    ผมกินข้าวที่กรุงเทพ แล้วไปเชียงใหม่
    เซิร์ฟเวอร์ล่มแล้วครับใช้docker
    ສະບາຍດີ ເຈົ້າ
    សួស្តីពិភពលោក
    မင်္ဂလာပါ ကမ္ဘာလောက`),
  // Cyrillic, Greek
  ...said(`
    Привет, мир! Сегодня хорошая погода в Москве
    Сервер упал, проверь логи; ёлка и мёд, Йод
    Добрий день, Київ і Львів
    Καλημέρα κόσμε, ο διακομιστής της Αθήνας
    ΟΔΟΣ και οδός`),
  // Arabic, Hebrew, Persian
  ...said(`
    مرحبا بالعالم، الطقس جميل اليوم
    الخَادِمُ لا يعمل، تحقق من السجلات
    שלום עולם, מזג האוויר יפה היום
    سلام دنیا، هوا امروز خوب است`),
  // Devanagari, Tamil, Bengali
  ...said(`
    नमस्ते दुनिया, आज मौसम अच्छा है
    सर्वर बंद है, लॉग देखो
    வணக்கம் உலகம், இன்று வானிலை நன்று
    ওহে বিশ্ব, আজ আবহাওয়া ভালো`),
  // Emoji and signs
  ...said(`
    ship it 🚀🌕 now
    👍🏽 well done ✅ and ❤️
    family 👨‍👩‍👧‍👦 flag 🇩🇪 price 5 € or £3 → done
    a lonely … dash — and ½ of it`),
  // Full width, mixed
  ...said(`
    ＨＥＬＬＯ　ｗｏｒｌｄ full width
    在VSCode里打开README.md文件
    用Python3写的爬虫テスト한글mix
    iPhone15很好用`),
  // Tools: as the agent stores them, and as we do
  { content: null, toolCalls: agentCall('web_search', { query: '漓江的天气 kubernetes' }) },
  { content: null, toolCalls: agentCall('天气查询', { 城市: '桂林', text: 'Привет\nfoobar' }) },
  { content: null, toolCalls: JSON.stringify([{ name: 'search', arguments: '{"q":"北京烤鸭"}' }]) },
  { content: '晴', toolName: '天气查询工具' },
  { content: agentJson({ results: ['部署完成', '部署失败'], naïve: 'été' }), toolName: 'terminal' },
  { content: `\0json:${agentJson([{ type: 'text', text: '这张图里有斑马zebra吗？' }])}` },
  { content: '🚀'.repeat(40) },
  { content: 'x'.repeat(3000) + ' deep 深处 needle' },
]

/** A store that holds them, in one session for each twenty. */
export async function storeOfSearchMessages(t: TestContext): Promise<Store> {
  const store = await openTempStore(t)
  await store.transaction(async ({ db, sessions }) => {
    for (const [index, message] of SEARCH_MESSAGES.entries()) {
      const id = `session-${Math.floor(index / 20)}`
      if (index % 20 === 0) await sessions.create({ id, source: index < 40 ? 'telegram' : 'cli' })
      await sql`
        insert into messages (id, session_id, role, content, tool_name, tool_calls, timestamp)
        values (cast(${index + 1} as integer), ${id}, 'user', ${message.content},
          ${message.toolName ?? null}, ${message.toolCalls ?? null}, ${1_770_000_000 + index})
      `.execute(db)
    }
  })
  return store
}
