
By0JÍAq@g²ö¸gºBâ¼ìAÃ@AÃ¿R¾