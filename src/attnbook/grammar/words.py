# ruff: noqa: E501
"""The word tables of the parallel corpus: Chinese, pinyin, English, and what a word goes with.

To add a word, add a line. A noun names its measure word and its kinds, a verb the kinds of its
objects, an adjective the kinds that it describes, and a place the activities that fit it. So the
grammar makes only sentences that somebody would say: nobody eats a letter or swims in the library.

Pinyin has the tones of the dictionary, also where speech changes them (bù before a fourth tone is
pronounced bú, two third tones in a row are pronounced second and third).
"""

# Chinese  pinyin  measure word  singular  plural  kinds. No singular: always plural (noodles). No
# plural: cannot be counted (tea); both are counted in a unit, the measure word's (a cup of tea).
NOUNS = """
学生    xuésheng    个  student     students     person,grown,pupil
老师    lǎoshī      个  teacher     teachers     person,grown,pupil
医生    yīshēng     个  doctor      doctors      person,grown
孩子    háizi       个  child       children     person,pupil
司机    sījī        个  driver      drivers      person,grown
朋友    péngyou     个  friend      friends      kin
同学    tóngxué     个  classmate   classmates   kin
妈妈    māma        个  mother      mothers      kin
爸爸    bàba        个  father      fathers      kin
哥哥    gēge        个  brother     brothers     kin
姐姐    jiějie      个  sister      sisters      kin
奶奶    nǎinai      个  grandmother grandmothers kin
老板    lǎobǎn      个  boss        bosses       boss
猫      māo         只  cat         cats         animal,pet
狗      gǒu         只  dog         dogs         animal,pet
鸟      niǎo        只  bird        birds        animal
马      mǎ          匹  horse       horses       animal,mount
鱼      yú          条  fish        fish         fish
苹果    píngguǒ     个  apple       apples       fruit
橙子    chéngzi     个  orange      oranges      fruit
西瓜    xīguā       个  watermelon  watermelons  fruit
香蕉    xiāngjiāo   根  banana      bananas      fruit
鸡蛋    jīdàn       个  egg         eggs         egg
米饭    mǐfàn       碗  rice        -            dish,warm
面条    miàntiáo    碗  -           noodles      dish,warm
汤      tāng        碗  soup        -            dish,warm
蛋糕    dàngāo      块  cake        -            dish,cake
鱿鱼    yóuyú       盘  squid       -            dish
茶      chá         杯  tea         -            drink,brew
咖啡    kāfēi       杯  coffee      -            drink,brew
牛奶    niúnǎi      杯  milk        -            drink,bowl
水      shuǐ        杯  water       -            drink,bowl
醋      cù          瓶  vinegar     -            sauce
书      shū         本  book        books        text,book
小说    xiǎoshuō    本  novel       novels       text,book,novel
杂志    zázhì       本  magazine    magazines    text,paper
词典    cídiǎn      本  dictionary  dictionaries text,tool
信      xìn         封  letter      letters      text,letter
电影    diànyǐng    部  film        films        film
歌      gē          首  song        songs        song
毛衣    máoyī       件  sweater     sweaters     clothes,worn
衬衫    chènshān    件  shirt       shirts       clothes,worn
裙子    qúnzi       条  skirt       skirts       clothes,worn,skirt
鞋      xié         双  -           shoes        clothes,worn
帽子    màozi       顶  hat         hats         clothes,hat
桌子    zhuōzi      张  table       tables       furniture
椅子    yǐzi        把  chair       chairs       furniture
车      chē         辆  car         cars         vehicle,car
自行车  zìxíngchē   辆  bicycle     bicycles     vehicle,mount
电脑    diànnǎo     台  computer    computers    gadget,tool,computer
手机    shǒujī      部  phone       phones       gadget,tool
花      huā         朵  flower      flowers      flower
树      shù         棵  tree        trees        tree
门      mén         扇  door        doors        opening
窗户    chuānghu    扇  window      windows      opening
照片    zhàopiàn    张  photo       photos       photo
票      piào        张  ticket      tickets      ticket
礼物    lǐwù        件  present     presents     gift
汉语    hànyǔ       -   chinese     -            language
英语    yīngyǔ      -   english     -            language
"""

# Measure words: Chinese, pinyin, and the unit where English needs one too, in both numbers.
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
GLASSES = {"水", "牛奶"}  # 杯 is a cup, but of these a glass

# Chinese  pinyin  the four English forms | the kinds of its object (- for none) | the activity,
# named by the PLACES that fit it | traits: habit (fits "every day"), now (fits 在: is doing), count
# (fits two or many objects), own (fits "my ..."), week and year (fit "last week", "last year"),
# skill (fits "can"), single (takes one object: rides a bicycle), fact (past tense only), unasked
# (makes no question with "what")
VERBS = """
吃      chī      eat      eats      ate        eating      | fruit,egg,dish,fish | eat | habit,now,count
喝      hē       drink    drinks    drank      drinking    | drink | drink | habit,now,count
看      kàn      read     reads     read       reading     | book,paper,letter | read | habit,now,count,own,week
看      kàn      watch    watches   watched    watching    | film | watch | habit,now,count,week
写      xiě      write    writes    wrote      writing     | letter | write | habit,now,count
买      mǎi      buy      buys      bought     buying      | fruit,egg,sauce,flower | buy | habit,count
买      mǎi      buy      buys      bought     buying      | dish,brew | order | habit,count
买      mǎi      buy      buys      bought     buying      | ticket | ticket | count,week
买      mǎi      buy      buys      bought     buying      | book,clothes,hat,furniture,vehicle,gadget,tool,gift | buy | count,week,year
卖      mài      sell     sells     sold       selling     | vehicle,furniture,gadget | - | own,week,year
洗      xǐ       wash     washes    washed     washing     | clothes,car,fruit | wash | habit,now,count,own
穿      chuān    wear     wears     wore       wearing     | worn | - | habit
戴      dài      wear     wears     wore       wearing     | hat | - | -
找      zhǎo     look_for looks_for looked_for looking_for | text,clothes,hat,gadget,ticket,pet,sauce | look | now,own
看见    kànjiàn  see      sees      saw        seeing      | person,kin,animal,car | see | count,own,fact
帮助    bāngzhù  help     helps     helped     helping     | person,kin | help | habit,now
等      děng     wait_for waits_for waited_for waiting_for | person,kin | wait | now
画      huà      draw     draws     drew       drawing     | animal,flower,tree | draw | habit,now,count
修      xiū      repair   repairs   repaired   repairing   | vehicle,gadget,furniture | repair | now,own,week
骑      qí       ride     rides     rode       riding      | mount | ride | habit,now,skill,single,unasked
开      kāi      drive    drives    drove      driving     | car | - | now,skill,own
开      kāi      open     opens     opened     opening     | opening | - | now
关      guān     close    closes    closed     closing     | opening | - | now,unasked
唱      chàng    sing     sings     sang       singing     | song | sing | habit,now,count
听      tīng     listen_to listens_to listened_to listening_to | song | listen | habit,now
说      shuō     speak    speaks    spoke      speaking    | language | speak | habit,now,skill,unasked
学习    xuéxí    study    studies   studied    studying    | language | study | habit,now
用      yòng     use      uses      used       using       | tool | use | habit,now,own,single
游泳    yóuyǒng  swim     swims     swam       swimming    | - | swim | habit,now,skill
跳舞    tiàowǔ   dance    dances    danced     dancing     | - | sing | habit,now,skill
跑步    pǎobù    run      runs      ran        running     | - | sport | habit,now
睡觉    shuìjiào sleep    sleeps    slept      sleeping    | - | rest | now
工作    gōngzuò  work     works     worked     working     | - | work | habit,now
休息    xiūxi    rest     rests     rested     resting     | - | rest | habit,now
做饭    zuòfàn   cook     cooks     cooked     cooking     | - | cook | habit,now,skill
"""

# The verbs of animals; the last column names the kinds of animals.
ANIMAL_VERBS = """
吃      chī      eat      eats      ate        eating      | fish | pet | pet
喝      hē       drink    drinks    drank      drinking    | bowl | pet | pet
睡觉    shuìjiào sleep    sleeps    slept      sleeping    | - | animal | animal
"""

# Chinese  pinyin  English  comparative (- for none) | the kinds described | plain (precedes its noun
# without 的: 新 书), after (only follows it: 树 很 高), too (fits 太, too much: 太 贵 了; with a good
# quality, 太 would be praise instead)
ADJECTIVES = """
甜      tián       sweet       sweeter          | fruit,cake | too
好吃    hǎochī     tasty       -                | fruit,dish,fish | -
新鲜    xīnxiān    fresh       -                | fruit,egg,fish | -
热      rè         hot         -                | drink,warm | plain,too
冷      lěng       cold        -                | drink | plain,too
好喝    hǎohē      tasty       -                | drink | -
贵      guì        expensive   more_expensive   | fruit,dish,brew,book,clothes,hat,furniture,vehicle,gadget,ticket | too
便宜    piányi     cheap       cheaper          | fruit,dish,brew,book,clothes,hat,furniture,vehicle,gadget,ticket | -
新      xīn        new         newer            | book,paper,clothes,hat,furniture,vehicle,gadget,film,song | plain
旧      jiù        old         older            | book,paper,tool,clothes,hat,furniture,vehicle,gadget,photo | plain,too
有趣    yǒuqù      interesting more_interesting | book,paper,film | -
长      cháng      long        longer           | letter,novel,skirt | plain,too
大      dà         big         bigger           | animal,fruit,furniture,fish,tree | plain,too
小      xiǎo       small       smaller          | animal,fruit,furniture,fish,gadget,opening,photo | plain,too
漂亮    piàoliang  beautiful   more_beautiful   | clothes,hat,flower,animal,photo | -
干净    gānjìng    clean       -                | clothes,vehicle,furniture,opening | -
可爱    kěài       cute        -                | animal | -
高      gāo        tall        taller           | person,kin,tree | after,too
年轻    niánqīng   young       -                | grown | -
聪明    cōngming   clever      -                | person | -
"""
# Adjectives for people, only after the verb to be.
FEELINGS = """
高兴    gāoxìng   happy   -
累      lèi       tired   too
忙      máng      busy    too
"""
# Adjectives without 很: 毛衣 是 红 的.
COLORS = """
红      hóng       red         -                | clothes,hat,vehicle,flower  | plain
黑      hēi        black       -                | clothes,hat,animal,vehicle  | plain
白      bái        white       -                | clothes,hat,animal,flower   | plain
"""

# Chinese  pinyin  English place | activities that fit | kinds of things found there
PLACES = """
家      jiā        at_home           | eat,drink,read,watch,write,wash,look,rest,cook,sing,listen,use,repair,pet | pet,furniture,computer
学校    xuéxiào    at_school         | eat,read,write,study,see,sing,sport,draw,speak,wait,help     | tree,person,vehicle
图书馆  túshūguǎn  in_the_library    | read,write,look,study,see,work,wait,use                      | text,furniture,computer,pupil
教室    jiàoshì    in_the_classroom  | read,write,look,study,see,draw,speak,help,wait,use           | furniture,computer,pupil
办公室  bàngōngshì in_the_office     | write,drink,look,see,work,speak,wait,rest,use                | furniture,computer,flower
公园    gōngyuán   in_the_park       | read,see,sport,draw,sing,rest,ride,wait,listen,animal        | tree,animal,flower,person
花园    huāyuán    in_the_garden     | read,drink,draw,rest,see,wash,listen,animal,pet              | tree,animal,flower
厨房    chúfáng    in_the_kitchen    | eat,drink,cook,look,pet                                           | fruit,egg,dish,drink,sauce
商店    shāngdiàn  in_the_shop       | buy,see,work                                                 | clothes,hat,gadget,furniture
饭馆    fànguǎn    in_the_restaurant | eat,drink,order,see,work,wait                                | furniture,person
火车站  huǒchēzhàn at_the_station    | ticket,see,work,wait                                         | person
海边    hǎibiān    at_the_seaside    | swim,read,eat,rest,sport,draw,see,sing,wait                  | person
医院    yīyuàn     at_the_hospital   | see,work,wait,rest                                           | person,furniture
"""
CITIES = """
北京    běijīng    in_beijing
上海    shànghǎi   in_shanghai
"""
# Where things lie: the noun, the word that follows it, the English, and the kinds of things.
SPOTS = """
桌子 上 on_the_table    text,fruit,egg,dish,drink,sauce,gadget,photo,flower,ticket,gift,hat
椅子 上 on_the_chair    text,clothes,hat,pet,gift
椅子 下 under_the_chair pet
桌子 下 under_the_table pet
"""
# Means of transport: to a city, or to a place nearby.
VEHICLES = """
坐 火车   by_train   city
坐 飞机   by_plane   city
坐 出租车 by_taxi    near
骑 自行车 by_bicycle near
"""

# Chinese  English  tense; week or year if it fits only verbs with that trait
TIMES = """
昨天       yesterday        past
昨晚       last_night       past
今天_早上  this_morning     past
上周       last_week        past  week
去年       last_year        past  year
明天       tomorrow         future
今晚       tonight          future
明天_早上  tomorrow_morning future
下周       next_week        future  week
明年       next_year        future  year
每天       every_day        habit
每天_晚上  every_evening    habit
现在       now              now
"""

# Chinese  pinyin  subject  object  possessive  verb form like
PRONOUNS = """
我   wǒ    i    me   my    i
你   nǐ    you  you  your  they
他   tā    he   him  his   he
她   tā    she  her  her   he
我们 wǒmen we   us   our   they
你们 nǐmen you  you  your  they
他们 tāmen they them their they
"""

# All other words with their pinyin and the meaning in a dictionary (- for none).
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
和     hé         and
一起   yīqǐ       together
经常   jīngcháng  often
上     shàng      on
下     xià        under
里     lǐ         in
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
