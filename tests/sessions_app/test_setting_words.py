"""The engine's words about settings are listed for translation, and every setting has a heading."""

from compaction.policy import AUXILIARY_SETTINGS, COMPRESSION_SETTINGS
from sessions_app.setting_paths import EVERY_SETTING
from sessions_app.setting_words import GROUPS, SETTING_WORDS


def test_every_word_of_the_engine_about_its_settings_is_listed_for_translation():
    settings = [setting for _name, setting in (*COMPRESSION_SETTINGS, *AUXILIARY_SETTINGS)]
    settings += [one.setting for one in EVERY_SETTING]
    said = {words for one in settings for words in (one.label, one.meaning, one.why, one.unit) if words}
    assert said == set(SETTING_WORDS)


def test_every_setting_has_a_label_and_stands_under_a_heading_with_a_place_of_its_own():
    assert all(one.setting.label and one.setting.meaning for one in EVERY_SETTING)
    assert {one.group for one in EVERY_SETTING} == {name for name, _title, _about in GROUPS}
    assert len({one.anchor for one in EVERY_SETTING}) == len(EVERY_SETTING)
