# ruff: noqa: E501
"""The word tables of the parallel corpus: Chinese, pinyin, English, and which words go together.

To add a word, add a line. A noun names its measure word and its kinds, a verb the kinds of its
objects, an adjective the kinds that it describes, and a place the activities that fit it. So the
grammar makes only sentences that somebody would say: nobody eats a letter or swims in the library.

Pinyin is written word by word with the tones of a dictionary, even where speech changes them: 不 is
always bù (pronounced bú before a fourth tone), 一 always yī, and two third tones in a row are kept.
A syllable has no tone mark if dictionaries give it none: 晚上 wǎnshang, and 上 and 里 after a noun,
桌子 上 zhuōzi shang. A measure word keeps its tone: 这 个 zhè gè. Names of places and of languages
begin with a capital letter: Běijīng, Hànyǔ.
"""

# Chinese  pinyin  measure word  singular  plural  kinds. No singular: always plural (noodles). No
# plural: cannot be counted (tea). Both are counted in the measure word's unit (a cup of tea).
NOUNS = """
学生    xuésheng    个  student     students     person,pupil,young
老师    lǎoshī      个  teacher     teachers     person,grown,pupil
医生    yīshēng     个  doctor      doctors      person,grown,doctor
孩子    háizi       个  child       children     person,pupil,young
司机    sījī        个  driver      drivers      person,grown,driver
朋友    péngyou     个  friend      friends      kin
同学    tóngxué     个  classmate   classmates   kin
妈妈    māma        个  mother      mothers      kin
爸爸    bàba        个  father      fathers      kin
哥哥    gēge        个  brother     brothers     kin
姐姐    jiějie      个  sister      sisters      kin
奶奶    nǎinai      个  grandmother grandmothers kin
老板    lǎobǎn      个  boss        bosses       boss
猫      māo         只  cat         cats         animal,pet,cat
狗      gǒu         只  dog         dogs         animal,pet
鸟      niǎo        只  bird        birds        animal,bird
马      mǎ          匹  horse       horses       animal,mount
鱼      yú          条  fish        fish         fish
苹果    píngguǒ     个  apple       apples       fruit,snack,washed
橙子    chéngzi     个  orange      oranges      fruit,snack
西瓜    xīguā       个  watermelon  watermelons  fruit,melon
香蕉    xiāngjiāo   根  banana      bananas      fruit,snack
鸡蛋    jīdàn       个  egg         eggs         egg
米饭    mǐfàn       碗  rice        -            dish,warm
面条    miàntiáo    碗  -           noodles      dish,warm
汤      tāng        碗  soup        -            soup,warm
蛋糕    dàngāo      块  cake        -            dish,cake
鱿鱼    yóuyú       盘  squid       -            dish
茶      chá         杯  tea         -            drink,brew
咖啡    kāfēi       杯  coffee      -            drink,brew
牛奶    niúnǎi      杯  milk        -            drink,bowl
水      shuǐ        杯  water       -            drink,bowl
醋      cù          瓶  vinegar     -            sauce
书      shū         本  book        books        text,book
小说    xiǎoshuō    本  novel       novels       text,book
杂志    zázhì       本  magazine    magazines    text,paper
词典    cídiǎn      本  dictionary  dictionaries text,tool,belonging
信      xìn         封  letter      letters      letter
电影    diànyǐng    部  film        films        film
歌      gē          首  song        songs        song
毛衣    máoyī       件  sweater     sweaters     clothes,worn,personal
衬衫    chènshān    件  shirt       shirts       clothes,worn,personal
裙子    qúnzi       条  skirt       skirts       clothes,worn,personal,skirt
鞋      xié         双  -           shoes        clothes,shoes,personal
帽子    màozi       顶  hat         hats         clothes,hat,personal
桌子    zhuōzi      张  table       tables       furniture
椅子    yǐzi        把  chair       chairs       furniture
车      chē         辆  car         cars         vehicle,car,belonging
自行车  zìxíngchē   辆  bicycle     bicycles     vehicle,mount,belonging
电脑    diànnǎo     台  computer    computers    gadget,tool,computer,belonging
手机    shǒujī      部  phone       phones       gadget,tool,personal,belonging
花      huā         朵  flower      flowers      flower
树      shù         棵  tree        trees        tree
门      mén         扇  door        doors        opening
窗户    chuānghu    扇  window      windows      opening
照片    zhàopiàn    张  photo       photos       photo
票      piào        张  ticket      tickets      ticket,personal,belonging
礼物    lǐwù        件  present     presents     gift
汉语    Hànyǔ       -   chinese     -            language
英语    Yīngyǔ      -   english     -            language
"""

# Measure words: Chinese, pinyin, and the unit where English needs one too (singular, plural).
MEASURES = """
个 gè
只 zhī
匹 pǐ
条 tiáo
根 gēn
本 běn
封 fēng
部 bù
首 shǒu
件 jiàn
顶 dǐng
张 zhāng
把 bǎ
辆 liàng
台 tái
朵 duǒ
棵 kē
扇 shàn
碗 wǎn  bowl   bowls
块 kuài piece  pieces
盘 pán  plate  plates
杯 bēi  cup    cups
瓶 píng bottle bottles
双 shuāng pair pairs
"""
GLASSES = {"水", "牛奶"}  # 杯 is a cup, but a glass for these drinks

# Chinese  pinyin  the four English forms | the kinds of its object (- for none) | the activity,
# as listed in PLACES | traits:
#   tenses     habit (fits "often"), daily ("every day", too), everyday (only "every day"), now
#              (fits 在: is doing), skill ("can"), fact (only past, and now if also listed), ongoing
#              (only now and "want"), planned (only now, future and "want"), untimed (no past,
#              future or "want")
#   objects    definite (this, that or "my ..."), absent (not this one),
#              indefinite (none of these), own ("my ..." also fits), count ("how many" fits),
#              many (several fit), single (one: rides a bicycle), sole (never "a ..." or "two ...")
#   times      week and year (fit "last week", "last year"), day (not in the evening), night (not in
#              the morning)
#   others     grown (not done by 孩子, 学生 or 奶奶), fun (fits "likes to"), unasked (makes no
#              question with "what")
VERBS = """
吃      chī      eat      eats      ate        eating      | snack,egg | eat | habit,daily,now,count,many,fun
吃      chī      eat      eats      ate        eating      | dish,fish | dine | habit,daily,now,count,fun
吃      chī      eat      eats      ate        eating      | melon | eat | habit,now,fun
喝      hē       drink    drinks    drank      drinking    | drink | drink | habit,daily,now,count,many,fun
喝      hē       eat      eats      ate        eating      | soup | dine | habit,now,fun,unasked
看      kàn      read     reads     read       reading     | book,paper | read | habit,daily,now,count,fun
看      kàn      read     reads     read       reading     | letter | mail | now,definite
看      kàn      watch    watches   watched    watching    | film | watch | habit,now,count,week,fun,night
写      xiě      write    writes    wrote      writing     | letter | mail | indefinite,habit,now,count,fun
买      mǎi      buy      buys      bought     buying      | fruit,egg,flower | buy | indefinite,habit,count,many
买      mǎi      buy      buys      bought     buying      | dish,soup,brew | - | indefinite,habit,count,grown
买      mǎi      buy      buys      bought     buying      | ticket | ticket | count,many,week,grown
买      mǎi      buy      buys      bought     buying      | book,paper,clothes,gift | buy | count,many,week,grown
买      mǎi      buy      buys      bought     buying      | furniture,gadget,tool | buy | week,year,grown
买      mǎi      buy      buys      bought     buying      | vehicle | - | week,year,grown
卖      mài      sell     sells     sold       selling     | vehicle,gadget | - | definite,week,year,day,night,grown,unasked
洗      xǐ       wash     washes    washed     washing     | clothes | launder | definite,now
洗      xǐ       wash     washes    washed     washing     | washed | rinse | indefinite,fact,now
洗      xǐ       wash     washes    washed     washing     | car | - | definite,own,now,day,grown
穿      chuān    wear     wears     wore       wearing     | worn | - | habit,fun
穿      chuān    wear     wears     wore       wearing     | shoes | - | definite
戴      dài      wear     wears     wore       wearing     | hat | - | habit,fun,day
找      zhǎo     look_for looks_for looked_for looking_for | text | look | absent,definite,own,ongoing
找      zhǎo     look_for looks_for looked_for looking_for | letter,clothes,gadget,ticket | seek | absent,definite,own,ongoing
找      zhǎo     look_for looks_for looked_for looking_for | pet | spot | absent,definite,own,ongoing
看见    kànjiàn  see      sees      saw        seeing      | person,kin | see | fact
看见    kànjiàn  see      sees      saw        seeing      | animal | spot | absent,definite,count,fact
看见    kànjiàn  see      sees      saw        seeing      | car | - | absent,definite,own,fact
帮助    bāngzhù  help     helps     helped     helping     | person,kin | help | habit,now
等      děng     wait_for waits_for waited_for waiting_for | person,kin | wait | planned
画      huà      draw     draws     drew       drawing     | animal,flower,tree | draw | indefinite,habit,now,count,many,day,fun
修      xiū      repair   repairs   repaired   repairing   | vehicle,gadget | repair | definite,now,own,week,grown
骑      qí       ride     rides     rode       riding      | mount | ride | habit,now,skill,single,sole,unasked,day,fun
开      kāi      drive    drives    drove      driving     | car | - | definite,now,skill,single,own,grown
开      kāi      open     opens     opened     opening     | opening | - | fact,now
关      guān     close    closes    closed     closing     | opening | - | fact,now,unasked
唱      chàng    sing     sings     sang       singing     | song | sing | habit,now,count,fun
听      tīng     listen_to listens_to listened_to listening_to | song | listen | habit,daily,now,fun
说      shuō     speak    speaks    spoke      speaking    | language | speak | habit,now,skill,unasked,fun,untimed
学习    xuéxí    study    studies   studied    studying    | language | study | habit,daily,now,fun
用      yòng     use      uses      used       using       | tool | use | habit,daily,now,own,single,sole
游泳    yóuyǒng  swim     swims     swam       swimming    | - | swim | habit,daily,now,skill,fun
跳舞    tiàowǔ   dance    dances    danced     dancing     | - | sing | habit,daily,now,skill,fun
跑步    pǎobù    run      runs      ran        running     | - | sport | habit,daily,now,fun
睡觉    shuìjiào sleep    sleeps    slept      sleeping    | - | sleep | ongoing,night
工作    gōngzuò  work     works     worked     working     | - | work | everyday,habit,daily,now,grown
休息    xiūxi    rest     rests     rested     resting     | - | rest | habit,now
做饭    zuòfàn   cook     cooks     cooked     cooking     | - | cook | habit,daily,now,skill,fun
"""
# Without a determiner, these objects are expressed differently in English: 唱 歌, sing.
SET_PHRASES: dict[tuple[str, ...], str] = {("唱", "歌"): "-", ("听", "歌"): "music"}

# The verbs of animals; the last column names the kinds of animals.
ANIMAL_VERBS = """
吃      chī      eat      eats      ate        eating      | fish | pet | cat
喝      hē       drink    drinks    drank      drinking    | bowl | pet | pet
睡觉    shuìjiào sleep    sleeps    slept      sleeping    | - | animal | animal
"""

# Chinese  pinyin  English  comparative (- for none) | the kinds described | plain (precedes its noun
# without 的: 新 书), after (only follows it: 树 很 高), too (fits 太, too much: 太 贵 了; with a good
# quality, 太 would be praise instead), good and bad (a reason to like the thing, or not to)
ADJECTIVES = """
甜      tián       sweet       sweeter          | fruit,cake | after,too,good
好吃    hǎochī     tasty       -                | fruit,dish,fish | after,good
新鲜    xīnxiān    fresh       -                | fruit,egg,fish | after,good
热      rè         hot         -                | drink,warm | plain,too
冷      lěng       cold        -                | drink | plain,too
好喝    hǎohē      tasty       -                | drink,soup | after,good
贵      guì        expensive   more_expensive   | fruit,dish,soup,brew,book,clothes,furniture,vehicle,gadget,ticket | after,too,bad
便宜    piányi     cheap       cheaper          | fruit,dish,soup,brew,book,clothes,furniture,vehicle,gadget,ticket | after,good
新      xīn        new         newer            | book,paper,clothes,furniture,vehicle,gadget,film,song | plain
旧      jiù        old         older            | book,paper,tool,clothes,furniture,vehicle,gadget,photo | plain,too,bad
有趣    yǒuqù      interesting more_interesting | book,paper,film | good
长      cháng      long        longer           | letter,skirt | plain,too
大      dà         big         bigger           | animal,melon,furniture,fish,tree | plain,too
小      xiǎo       small       smaller          | animal,furniture,fish,opening | plain,too
漂亮    piàoliang  beautiful   more_beautiful   | clothes,flower,animal,photo | good
干净    gānjìng    clean       -                | clothes,vehicle,furniture,opening | after
可爱    kě'ài      cute        -                | pet,bird | good
高      gāo        tall        taller           | person,kin,tree | after,too
年轻    niánqīng   young       -                | grown | -
聪明    cōngming   clever      -                | young | good
"""
# Adjectives for people, only after the verb to be.
FEELINGS = """
高兴    gāoxìng   happy   -
累      lèi       tired   too
忙      máng      busy    too
"""
# Adjectives without 很: 毛衣 是 红 的.
COLORS = """
红      hóng       red         -                | clothes,vehicle,flower  | plain
黑      hēi        black       -                | clothes,animal          | plain
白      bái        white       -                | clothes,animal,flower   | plain
"""

# Chinese  pinyin  English place | activities that fit | kinds of things found there | people who
# rarely go there | day (not in the evening), many (things are found there in large numbers)
PLACES = """
家      jiā        at_home           | eat,dine,drink,read,watch,mail,launder,rinse,look,seek,rest,sleep,cook,sing,listen,use,repair,study,pet | pet,furniture,computer | - | -
学校    xuéxiào    at_school         | eat,dine,read,study,see,sing,sport,draw,speak,wait,help     | tree,pupil,vehicle | 医生,司机,妈妈,爸爸,奶奶 | day,many
图书馆  túshūguǎn  in_the_library    | read,look,study,see,work,wait,use                      | text,furniture,computer,pupil | - | many
教室    jiàoshì    in_the_classroom  | read,look,study,see,draw,speak,help,wait,use           | furniture,computer,pupil | 医生,司机,妈妈,爸爸,奶奶 | day
办公室  bàngōngshì in_the_office     | mail,drink,look,see,work,speak,wait,rest,use                | furniture,computer,flower | 学生,孩子,同学,奶奶 | -
公园    gōngyuán   in_the_park       | read,see,spot,sport,draw,sing,rest,ride,wait,listen          | tree,bird,flower,pupil | - | day,many
花园    huāyuán    in_the_garden     | read,drink,draw,rest,see,spot,listen,pet                     | tree,bird,pet,flower | - | day
厨房    chúfáng    in_the_kitchen    | eat,drink,cook,rinse,pet                                          | fruit,egg,dish,soup,drink,sauce | 老师,医生,司机,学生 | -
商店    shāngdiàn  in_the_shop       | buy,see,work                                                 | clothes,gadget,book | - | many
饭馆    fànguǎn    in_the_restaurant | dine,drink,see,work,wait                                      | furniture | - | many
火车站  huǒchēzhàn at_the_station    | ticket,see,work,wait                                         | driver | - | many
海边    hǎibiān    at_the_seaside    | swim,rest,sport,see,sing                           | pupil | - | day,many
医院    yīyuàn     at_the_hospital   | see,work,wait                                                | doctor | - | many
"""
CITIES = """
北京    Běijīng    in_beijing
上海    Shànghǎi   in_shanghai
"""
# Where things lie: the noun, the word that follows it, the English, and the kinds of things.
SPOTS = """
桌子 上 on_the_table    text,letter,fruit,egg,dish,soup,drink,sauce,gadget,photo,flower,ticket,gift,hat
椅子 上 on_the_chair    text,letter,worn,hat,pet,gift
椅子 下面 under_the_chair pet
桌子 下面 under_the_table pet
"""
# Means of transport: to a city, or to a place nearby.
VEHICLES = """
坐 火车   by_train   city
坐 飞机   by_plane   city
坐 出租车 by_taxi    near
骑 自行车 by_bicycle near
"""

# Chinese  English  tense; week, year: only for verbs with that trait; evening, morning
TIMES = """
昨天       yesterday        past
昨晚       last_night       past   evening
今天_早上  this_morning     past   morning
上周       last_week        past   week
去年       last_year        past   year
明天       tomorrow         future
今晚       tonight          future evening
明天_早上  tomorrow_morning future morning
下周       next_week        future week
明年       next_year        future year
每天       every_day        habit
每天_早上  every_morning    habit  morning
每天_晚上  every_evening    habit  evening
现在       now              now
"""

# Chinese  pinyin  subject  object  possessive  pronoun whose verb form it takes
PRONOUNS = """
我   wǒ    i    me   my    i
你   nǐ    you  you  your  they
他   tā    he   him  his   he
她   tā    she  her  her   he
我们 wǒmen we   us   our   they
你们 nǐmen you  you  your  they
他们 tāmen they them their they
"""

# All other words, with their pinyin and dictionary meaning (- for none).
OTHERS = """
它     tā         it
它们   tāmen      they
们     men        -
的     de         's
很     hěn        very
非常   fēicháng   very
太     tài        too
比     bǐ         than
不     bù         not
没     méi        not
有     yǒu        have
是     shì        is
了     le         -
吗     ma         -
在     zài        in
会     huì        will
想     xiǎng      want_to
喜欢   xǐhuan     like
认识   rènshi     know
去     qù         go_to
回     huí        return
坐     zuò        sit
给     gěi        give
送给   sònggěi    give
把     bǎ         take
和     hé         and
一起   yīqǐ       together
经常   jīngcháng  often
上     shang      on
下     xià        under
下面   xiàmian    under
里     li         in
这     zhè        this
那     nà         that
一     yī         a
两     liǎng      two
三     sān        three
四     sì         four
五     wǔ         five
很多   hěnduō     many
一些   yīxiē      some
几     jǐ         how_many
谁     shéi       who
什么   shénme     what
哪里   nǎlǐ       where
为什么 wèishénme  why
昨天   zuótiān    yesterday
昨晚   zuówǎn     last_night
今天   jīntiān    today
早上   zǎoshang   morning
晚上   wǎnshang   evening
上周   shàngzhōu  last_week
去年   qùnián     last_year
明天   míngtiān   tomorrow
今晚   jīnwǎn     tonight
下周   xiàzhōu    next_week
明年   míngnián   next_year
每天   měitiān    every_day
现在   xiànzài    now
火车   huǒchē     train
飞机   fēijī      plane
出租车 chūzūchē   taxi
打     dǎ         hit
电话   diànhuà    telephone
雨     yǔ         rain
雪     xuě        snow
炒     chǎo       fry
但是   dànshì     but
玩笑   wánxiào    joke
，     ，         ,
？     ？         ?
"""
