"""How well the encoding of a page is detected that does not declare it, and what that costs.

    python -m bench.encodings

Every text below is a page of HTML without a charset, in each encoding that people used for its language, long (the
whole text) and short (its first sentence). A page counts as right if its text is decoded right: encodings that differ
only in characters that the page does not have are the same. The libraries beside ours are optional.
"""

# ruff: noqa: E501, RUF001 (letters of other scripts are wide, and look like ours)

import time
import unicodedata
from collections.abc import Callable

import webencodings

from centime.parse.encoding import as_utf8

# language, top-level domain, encodings, text
TEXTS = (
    (
        "Russian",
        "ru",
        ("windows-1251", "koi8-r", "ibm866", "iso-8859-5"),
        "Городской музей открыт каждый день, кроме понедельника. В четверг вход свободный для школьников и студентов. "
        "Новая выставка рассказывает о старых картах и о людях, которые их рисовали. Билеты продаются в кассе и у входа.",
    ),
    (
        "Ukrainian",
        "ua",
        ("windows-1251", "koi8-u"),
        "Міський музей відчинено щодня, крім понеділка. У четвер вхід вільний для школярів і студентів. Нова виставка "
        "розповідає про давні мапи та про людей, які їх малювали. Квитки можна придбати в касі біля входу.",
    ),
    (
        "Bulgarian",
        "bg",
        ("windows-1251",),
        "Градският музей е отворен всеки ден освен понеделник. В четвъртък входът е свободен за ученици и студенти. "
        "Новата изложба разказва за стари карти и за хората, които са ги рисували. Билети се продават на касата.",
    ),
    (
        "Greek",
        "gr",
        ("windows-1253", "iso-8859-7"),
        "Το μουσείο της πόλης είναι ανοιχτό κάθε μέρα εκτός από τη Δευτέρα. Την Πέμπτη η είσοδος είναι ελεύθερη για "
        "μαθητές και φοιτητές. Η νέα έκθεση μιλά για παλιούς χάρτες και για τους ανθρώπους που τους σχεδίασαν.",
    ),
    (
        "Czech",
        "cz",
        ("windows-1250", "iso-8859-2"),
        "Městské muzeum je otevřeno každý den kromě pondělí. Ve čtvrtek mají žáci a studenti vstup zdarma. Nová výstava "
        "vypráví příběhy starých map a lidí, kteří je kreslili. Vstupenky koupíte u pokladny nebo přímo u vchodu.",
    ),
    (
        "Polish",
        "pl",
        ("windows-1250", "iso-8859-2"),
        "Muzeum miejskie jest czynne codziennie oprócz poniedziałku. W czwartek uczniowie i studenci wchodzą za darmo. "
        "Nowa wystawa opowiada o dawnych mapach i o ludziach, którzy je rysowali. Bilety można kupić w kasie obok wejścia.",
    ),
    (
        "Hungarian",
        "hu",
        ("windows-1250", "iso-8859-2"),
        "A városi múzeum hétfő kivételével minden nap nyitva tart. Csütörtökön a diákoknak ingyenes a belépés. Az új "
        "kiállítás régi térképekről és rajzolóikról szól. Jegyet a pénztárnál vagy közvetlenül a bejáratnál lehet venni.",
    ),
    (
        "Turkish",
        "tr",
        ("windows-1254",),
        "Şehir müzesi pazartesi dışında her gün açıktır. Perşembe günü öğrenciler için giriş ücretsizdir. Yeni sergi eski "
        "haritaları ve onları çizen insanları anlatıyor. Biletler gişede ve girişte satılmaktadır, çocuklar ücret ödemez.",
    ),
    (
        "German",
        "de",
        ("windows-1252",),
        "Das Städtische Museum ist täglich außer montags geöffnet. Am Donnerstag haben Schüler freien Eintritt. Die neue "
        "Ausstellung erzählt von alten Karten und von Menschen, die sie gezeichnet haben. Karten gibt es an der Kasse.",
    ),
    (
        "French",
        "fr",
        ("windows-1252",),
        "Le musée de la ville est ouvert tous les jours sauf le lundi. Le jeudi, l'entrée est gratuite pour les élèves et "
        "les étudiants. La nouvelle exposition présente des cartes anciennes et ceux qui les ont dessinées à la main.",
    ),
    (
        "Spanish",
        "es",
        ("windows-1252",),
        "El museo municipal abre todos los días menos el lunes. El jueves la entrada es gratuita para niños y jóvenes. La "
        "nueva exposición habla de mapas antiguos y de quienes los dibujaron. ¿Dónde se compran los boletos? En la caja.",
    ),
    (
        "Icelandic",
        "is",
        ("windows-1252",),
        "Borgarsafnið er opið alla daga nema mánudaga. Á fimmtudögum er aðgangur ókeypis fyrir nemendur. Nýja sýningin "
        "fjallar um gömul kort og fólkið sem teiknaði þau. Miðar eru seldir í afgreiðslu og við innganginn.",
    ),
    (
        "Lithuanian",
        "lt",
        ("windows-1257",),
        "Miesto muziejus atidarytas kasdien, išskyrus pirmadienį. Ketvirtadienį moksleiviams ir studentams įėjimas "
        "nemokamas. Nauja paroda pasakoja apie senus žemėlapius ir žmones, kurie juos piešė. Bilietai parduodami kasoje.",
    ),
    (
        "Latvian",
        "lv",
        ("windows-1257",),
        "Pilsētas muzejs ir atvērts katru dienu, izņemot pirmdienu. Ceturtdien skolēniem un studentiem ieeja ir bez maksas. "
        "Jaunā izstāde stāsta par senām kartēm un cilvēkiem, kas tās zīmējuši. Biļetes var iegādāties kasē.",
    ),
    (
        "Hebrew",
        "il",
        ("windows-1255",),
        "המוזיאון העירוני פתוח בכל יום מלבד יום שני. ביום חמישי הכניסה חופשית לתלמידים ולסטודנטים. התערוכה החדשה מספרת על "
        "מפות ישנות ועל האנשים שציירו אותן. אפשר לקנות כרטיסים בקופה ובכניסה למוזיאון.",
    ),
    (
        "Arabic",
        "eg",
        ("windows-1256", "iso-8859-6"),
        "متحف المدينة مفتوح كل يوم ما عدا يوم الاثنين. الدخول مجاني للتلاميذ والطلاب يوم الخميس. المعرض الجديد يحكي عن خرائط "
        "قديمة وعن الناس الذين رسموها بأيديهم. تباع التذاكر عند المدخل وفي مكتب الاستقبال.",
    ),
    (
        "Thai",
        "th",
        ("windows-874",),
        "พิพิธภัณฑ์ของเมืองเปิดทุกวันยกเว้นวันจันทร์ วันพฤหัสบดีนักเรียนและนักศึกษาเข้าชมได้โดยไม่เสียเงิน "
        "นิทรรศการใหม่เล่าเรื่องแผนที่เก่าและผู้คนที่วาดแผนที่เหล่านั้น ซื้อบัตรได้ที่ทางเข้า",
    ),
    (
        "Vietnamese",
        "vn",
        ("windows-1258",),
        "Bảo tàng thành phố mở cửa hằng ngày trừ thứ hai. Thứ năm học sinh và sinh viên được vào cửa miễn phí. Triển lãm "
        "mới kể về những tấm bản đồ cũ và những người đã vẽ chúng. Vé được bán ở quầy và ở cổng vào.",
    ),
    (
        "Japanese",
        "jp",
        ("shift_jis", "euc-jp", "iso-2022-jp"),
        "市立博物館は月曜日を除いて毎日開いています。木曜日は学生の入場が無料です。新しい展覧会では、古い地図とそれを描いた人々を紹介しています。"
        "チケットは受付または入口でお求めください。お子様は無料です。",
    ),
    (
        "Korean",
        "kr",
        ("euc-kr",),
        "시립 박물관은 월요일을 제외하고 매일 문을 엽니다. 목요일에는 학생들의 입장이 무료입니다. 새 전시회는 오래된 지도와 그것을 그린 사람들의 "
        "이야기를 들려줍니다. 표는 매표소나 입구에서 살 수 있습니다.",
    ),
    (
        "Chinese (simplified)",
        "cn",
        ("gbk",),
        "市博物馆除星期一外每天开放。星期四学生可以免费参观。新的展览介绍古老的地图和绘制这些地图的人。门票可以在售票处或者入口处购买，儿童免费。",
    ),
    (
        "Chinese (traditional)",
        "tw",
        ("big5",),
        "市立博物館除了星期一以外每天開放。星期四學生可以免費參觀。新的展覽介紹古老的地圖和繪製這些地圖的人。門票可以在售票處或者入口處購買，兒童免費。",
    ),
)

TONES = "\u0300\u0301\u0303\u0309\u0323"
Detector = Callable[[bytes, str], str]


def cases() -> list[tuple[str, str, str, bytes, str]]:
    """Language, encoding, top-level domain, the page and its text."""
    found = []
    for language, domain, encodings, text in TEXTS:
        sentence = next(part for part in text.replace("。", ". ").split(". ") if part)
        for encoding in encodings:
            codec = webencodings.lookup(encoding)
            assert codec is not None
            for words in (text, sentence):
                words = _with_tones_apart(words) if encoding == "windows-1258" else words
                title = f"<html><head><title>{words[:40]}</title></head>"
                page = f"{title}<body><p>{words}</p><a href='/a?q=1'>1</a></body></html>"
                packed = codec.codec_info.encode(page, "xmlcharrefreplace")[0]
                found.append((language, encoding, domain, packed, codec.codec_info.decode(packed, "replace")[0]))
    return found


def _with_tones_apart(text: str) -> str:
    """Vietnamese as windows-1258 writes it: letters, each followed by its tone."""
    letters = []
    for letter in text:
        parts = unicodedata.normalize("NFD", letter)
        tones = "".join(part for part in parts if part in TONES)
        letters.append(unicodedata.normalize("NFC", "".join(part for part in parts if part not in TONES)) + tones)
    return "".join(letters)


def is_right(body: bytes, name: str, text: str) -> bool:
    """Whether the page has its text in this encoding."""
    known = webencodings.lookup(name) if name else None
    return known is not None and known.codec_info.decode(body, "replace")[0] == text


def ours(body: bytes, domain: str) -> str:
    """What a crawl takes the page for."""
    return as_utf8(body, "text/html", url=f"http://a.{domain}/" if domain else "")[1]


def before(body: bytes, domain: str) -> str:
    """UTF-8 if it is valid, otherwise windows-1252."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def detectors() -> dict[str, Detector]:
    """Every detector that is installed."""
    found: dict[str, Detector] = {
        "windows-1252 always": before,
        "centime": ours,
        "centime, domain .com": lambda body, domain: ours(body, "com"),
    }
    try:
        from charset_normalizer import from_bytes

        found["charset-normalizer"] = lambda body, domain: (lambda best: best.encoding if best else "")(
            from_bytes(body).best()
        ).replace("_", "-")
    except ImportError:
        pass
    try:
        import cchardet

        found["faust-cchardet"] = lambda body, domain: (cchardet.detect(body)["encoding"] or "").lower()
    except ImportError:
        pass
    try:
        import chardet

        found["chardet"] = lambda body, domain: (chardet.detect(body)["encoding"] or "").lower()
    except ImportError:
        pass
    return found


def main() -> None:
    """Prints the share of pages that each detector reads right, and its time per page."""
    pages = cases()
    print(f"{len(pages)} pages, {sum(len(page[3]) for page in pages) / len(pages):.0f} bytes in the mean")
    print(f"{'detector':22} {'long':>7} {'short':>7} {'µs/page':>9}")
    for name, detect in detectors().items():
        begun = time.perf_counter()
        right = [is_right(body, detect(body, domain), text) for _, _, domain, body, text in pages]
        took = time.perf_counter() - begun
        longs, shorts = right[0::2], right[1::2]
        print(
            f"{name:22} {sum(longs) / len(longs):7.1%} {sum(shorts) / len(shorts):7.1%} {took / len(pages) * 1e6:9.0f}"
        )
        if name.startswith("centime"):
            wrong = [
                f"{page[0]} {page[1]} ({'short' if place % 2 else 'long'})"
                for place, page in enumerate(pages)
                if not right[place]
            ]
            print("  wrong:", ", ".join(wrong) or "none")


if __name__ == "__main__":
    main()
